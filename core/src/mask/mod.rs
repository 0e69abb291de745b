//! Secrets and personal data on structured values.
