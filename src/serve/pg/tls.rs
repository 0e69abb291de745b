//! The server's certificate.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::PgError;

/// A certificate and its key, ready for connections.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
    /// As it was read: SCRAM binds itself to it where it can.
    pub(super) certificate: Arc<[u8]>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads a chain of certificates and a key, both PEM; the key as PKCS#8, PKCS#1 or SEC1.
    ///
    /// # Errors
    /// If a file cannot be read, holds nothing, or the two do not belong together. A server never goes on
    /// without.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, PgError> {
        let wrong = |path: &Path, why: &dyn std::fmt::Display| {
            PgError::Usage(format!("{}: {why}", path.display()))
        };
        let text =
            std::fs::read(certificate).map_err(PgError::io(certificate.display().to_string()))?;
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(certificate, &error))?;
        if chain.is_empty() {
            return Err(wrong(
                certificate,
                &"no certificate in it (PEM is expected)",
            ));
        }
        let secret = std::fs::read(key).map_err(PgError::io(key.display().to_string()))?;
        let secret = PrivateKeyDer::from_pem_slice(&secret).map_err(|error| wrong(key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(certificate, &error))?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|error| wrong(key, &error))?;
        // Clients that do not ask first whether TLS is spoken.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate: text.into(),
        })
    }
}
