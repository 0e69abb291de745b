//! Who may come in.

use std::collections::HashMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion_postgres::pgwire::api::auth::sasl::SASLAuthStartupHandler;
use datafusion_postgres::pgwire::api::auth::sasl::scram::{
    SCRAM_ITERATIONS, ScramAuth, gen_salted_password,
};
use datafusion_postgres::pgwire::api::auth::{
    AuthSource, DefaultServerParameterProvider, LoginInfo, Password, StartupHandler,
    finish_authentication, protocol_negotiation, save_startup_parameters_to_metadata,
};
use datafusion_postgres::pgwire::api::{
    ClientInfo, PgWireConnectionState, PidSecretKeyGenerator as _, RandomPidSecretKeyGenerator,
};
use datafusion_postgres::pgwire::error::{PgWireError, PgWireResult};
use datafusion_postgres::pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};
use fidelake_core::json::key::Key;
use futures::Sink;

use super::error::{PgError, code, fatal, made_fatal};
use super::handler::Connection;
use super::session::LAKE_VERSION;
use super::setting::{keep_timeout, options};
use super::tls::Tls;

/// Shorter passwords can be guessed.
const SHORTEST: usize = 12;

/// Bytes of salt.
const SALT: usize = 16;

/// Names and passwords, kept salted and hashed as SCRAM-SHA-256 does.
#[derive(Clone)]
pub struct Access(Arc<Users>);

struct Users {
    all: HashMap<String, Salted>,
    /// Makes a salt for names that are not there: who asks must not learn which are.
    secret: [u8; 32],
}

struct Salted {
    salt: Vec<u8>,
    password: Vec<u8>,
}

impl Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} users", self.all.len())
    }
}

impl Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Access {
    /// Reads a file with one `name:password` a line; empty lines and lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// If it cannot be read, others may read it, a line is wrong or nobody is in it.
    pub fn read(path: &Path) -> Result<Self, PgError> {
        use std::os::unix::fs::PermissionsExt as _;
        let shown = path.display();
        let mode = std::fs::metadata(path).map_err(PgError::io(shown.to_string()))?;
        if mode.permissions().mode() & 0o077 != 0 {
            return Err(PgError::Usage(format!(
                "{shown}: others on this machine may read it; `chmod 600 {shown}`"
            )));
        }
        let text = std::fs::read_to_string(path).map_err(PgError::io(shown.to_string()))?;
        let mut all = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: &str| PgError::Usage(format!("{shown}, line {number}: {why}"));
            let (name, password) = line
                .split_once(':')
                .ok_or_else(|| wrong("write name:password"))?;
            if name.is_empty() {
                return Err(wrong("a name is missing before the colon"));
            }
            if password.chars().count() < SHORTEST {
                return Err(wrong(&format!(
                    "a password has at least {SHORTEST} characters"
                )));
            }
            let salt = chance::<SALT>()?.to_vec();
            let password = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
            if all
                .insert(name.to_owned(), Salted { salt, password })
                .is_some()
            {
                return Err(wrong(&format!("{name} stands there already")));
            }
        }
        if all.is_empty() {
            return Err(PgError::Usage(format!(
                "{shown}: nobody is in it; write one name:password a line"
            )));
        }
        let secret = chance()?;
        Ok(Self(Arc::new(Users { all, secret })))
    }
}

fn chance<const N: usize>() -> Result<[u8; N], PgError> {
    let mut bytes = [0; N];
    getrandom::getrandom(&mut bytes)
        .map_err(|error| PgError::io("no random numbers")(error.into()))?;
    Ok(bytes)
}

#[async_trait]
impl AuthSource for Users {
    async fn get_password(&self, login: &LoginInfo) -> PgWireResult<Password> {
        let name = login.user().unwrap_or_default();
        if let Some(user) = self.all.get(name) {
            return Ok(Password::new(
                Some(user.salt.clone()),
                user.password.clone(),
            ));
        }
        let made = |what: &str| {
            let text = [&self.secret[..], what.as_bytes(), name.as_bytes()].concat();
            Key::of(&text).to_string().into_bytes()
        };
        let mut salt = made("salt");
        salt.truncate(SALT);
        let mut password = made("password");
        password.truncate(32);
        Ok(Password::new(Some(salt), password))
    }
}

/// The door of one connection.
pub(super) struct Door {
    connection: Arc<Connection>,
    scram: Option<SASLAuthStartupHandler<DefaultServerParameterProvider>>,
    /// Plain text is refused.
    secure: bool,
}

impl Door {
    pub(super) fn new(
        connection: Arc<Connection>,
        access: Option<&Access>,
        tls: Option<&Tls>,
    ) -> Self {
        let scram = access.map(|access| {
            let mut scram = ScramAuth::new(Arc::clone(&access.0) as Arc<dyn AuthSource>);
            if let Some(tls) = tls {
                // A signature that SCRAM cannot bind to: then it does not bind.
                let _ = scram.configure_certificate(&tls.certificate);
            }
            SASLAuthStartupHandler::new(Arc::new(told())).with_scram(scram)
        });
        Self {
            connection,
            scram,
            secure: tls.is_some(),
        }
    }

    /// What a client wants from its first question on.
    fn apply(&self, client: &mut impl ClientInfo, text: &str) -> PgWireResult<()> {
        for (name, value) in options(text)? {
            if name == LAKE_VERSION {
                self.connection.session.begin_at(&value)?;
            } else if name == "statement_timeout" {
                keep_timeout(client, &value)?;
            }
        }
        Ok(())
    }

    async fn open<C>(&self, client: &mut C, message: PgWireFrontendMessage) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if self.secure && !client.is_secure() {
            return Err(fatal(
                code::NOT_ADMITTED,
                "this server speaks TLS only: connect with sslmode=require or stronger",
            ));
        }
        if let PgWireFrontendMessage::Startup(startup) = &message
            && let Some(options) = startup.parameters.get("options")
        {
            self.apply(client, options)?;
        }
        if let Some(scram) = &self.scram {
            return scram.on_startup(client, message).await;
        }
        let PgWireFrontendMessage::Startup(startup) = &message else {
            return Err(fatal(code::PROTOCOL, "a startup message was expected"));
        };
        protocol_negotiation(client, startup).await?;
        save_startup_parameters_to_metadata(client, startup);
        let (pid, secret) = RandomPidSecretKeyGenerator::default().generate(client);
        client.set_pid_and_secret_key(pid, secret);
        finish_authentication(client, &told()).await
    }
}

/// What clients are told of the server when they come in.
fn told() -> DefaultServerParameterProvider {
    let mut told = DefaultServerParameterProvider::default();
    told.server_version = concat!("16.6 (fidelake ", env!("CARGO_PKG_VERSION"), ")").to_owned();
    told.is_superuser = false;
    told.default_transaction_read_only = true;
    told
}

#[async_trait]
impl StartupHandler for Door {
    async fn on_startup<C>(
        &self,
        client: &mut C,
        message: PgWireFrontendMessage,
    ) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        // An error that is not fatal would leave the connection ready for queries.
        self.open(client, message).await.map_err(made_fatal)?;
        if matches!(client.state(), PgWireConnectionState::ReadyForQuery) {
            self.connection.admit(client);
        }
        Ok(())
    }
}
