//! The episodes of an HTTP server, by session and by address.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fidelake_core::json::key::Key;

use super::episode::Episode;

/// An episode that nobody asked for so long makes room for others.
const IDLE: Duration = Duration::from_secs(3600);

/// One episode, with who holds it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) seed: Option<u64>,
    /// `None` until its first call. Calls of one episode wait for each other.
    pub(super) episode: tokio::sync::Mutex<Option<Episode>>,
    /// The session that holds it; `None`: clients without sessions.
    session: Option<String>,
    touched: Mutex<Instant>,
}

/// Why there is no episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoSlot {
    /// There is no such session, or no longer.
    Unknown,
    /// Another client holds it.
    Held,
    /// There are too many.
    Full,
}

/// All episodes under way.
#[derive(Debug)]
pub(super) struct Sessions {
    most: usize,
    count: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_session: HashMap<String, Arc<Slot>>,
    /// Episodes that their address names.
    by_name: HashMap<String, Arc<Slot>>,
}

impl Sessions {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            count: AtomicU64::new(0),
            inner: Mutex::default(),
        }
    }

    /// A session of its own, in an episode of its own or the named one.
    pub(super) fn begin(
        &self,
        name: Option<&str>,
        seed: Option<u64>,
    ) -> Result<(String, Arc<Slot>), NoSlot> {
        let mut inner = self.lock();
        if name.is_some_and(|name| inner.by_name.contains_key(name)) {
            return Err(NoSlot::Held);
        }
        inner.make_room(self.most)?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let id = unguessable(number);
        let slot = Arc::new(Slot {
            name: name.map_or_else(|| format!("session-{number}"), str::to_owned),
            seed,
            episode: tokio::sync::Mutex::default(),
            session: Some(id.clone()),
            touched: Mutex::new(Instant::now()),
        });
        if let Some(name) = name {
            inner.by_name.insert(name.to_owned(), Arc::clone(&slot));
        }
        inner.by_session.insert(id.clone(), Arc::clone(&slot));
        Ok((id, slot))
    }

    /// The episode of a session; with a name it must be that one.
    pub(super) fn of_session(&self, id: &str, name: Option<&str>) -> Result<Arc<Slot>, NoSlot> {
        let slot = self.lock().by_session.get(id).cloned();
        let slot = slot.ok_or(NoSlot::Unknown)?;
        if name.is_some_and(|name| name != slot.name) {
            return Err(NoSlot::Unknown);
        }
        slot.touch();
        Ok(slot)
    }

    /// The episode that an address names, begun if it is new.
    pub(super) fn named(&self, name: &str, seed: Option<u64>) -> Result<Arc<Slot>, NoSlot> {
        let mut inner = self.lock();
        if let Some(slot) = inner.by_name.get(name) {
            if slot.session.is_some() {
                return Err(NoSlot::Held);
            }
            slot.touch();
            return Ok(Arc::clone(slot));
        }
        inner.make_room(self.most)?;
        let slot = Arc::new(Slot {
            name: name.to_owned(),
            seed,
            episode: tokio::sync::Mutex::default(),
            session: None,
            touched: Mutex::new(Instant::now()),
        });
        inner.by_name.insert(name.to_owned(), Arc::clone(&slot));
        Ok(slot)
    }

    /// Ends a session and its episode.
    pub(super) fn end_session(&self, id: &str) -> bool {
        let mut inner = self.lock();
        let Some(slot) = inner.by_session.remove(id) else {
            return false;
        };
        inner.by_name.remove(&slot.name);
        true
    }

    /// Forgets an episode, whoever holds it: its name begins anew.
    pub(super) fn end_named(&self, name: &str) -> bool {
        let mut inner = self.lock();
        let Some(slot) = inner.by_name.remove(name) else {
            return false;
        };
        if let Some(id) = &slot.session {
            inner.by_session.remove(id);
        }
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn make_room(&mut self, most: usize) -> Result<(), NoSlot> {
        let count = |inner: &Self| {
            let named = inner.by_name.values();
            inner.by_session.len() + named.filter(|slot| slot.session.is_none()).count()
        };
        if count(self) < most {
            return Ok(());
        }
        self.by_session.retain(|_, slot| !slot.is_idle());
        self.by_name.retain(|_, slot| !slot.is_idle());
        match count(self) < most {
            true => Ok(()),
            false => Err(NoSlot::Full),
        }
    }
}

impl Slot {
    fn touch(&self) {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.elapsed() > IDLE
    }
}

/// A name of a session that no other client can guess: every state of the standard
/// hasher has random keys.
fn unguessable(number: u64) -> String {
    let random = |salt: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(salt);
        hasher.finish()
    };
    let parts = [number, random(1), random(2), random(3)].map(|part| part.to_string());
    let parts = parts.each_ref().map(String::as_str);
    Key::of_parts(&parts).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_clients_do_not_share_an_episode_unawares() {
        let all = Sessions::new(3);
        let (id, _) = all.begin(Some("a"), None).unwrap();
        assert_eq!(all.begin(Some("a"), None).unwrap_err(), NoSlot::Held);
        assert_eq!(all.named("a", None).unwrap_err(), NoSlot::Held);
        assert_eq!(all.of_session(&id, Some("b")).unwrap_err(), NoSlot::Unknown);
        assert!(all.of_session(&id, Some("a")).is_ok() && all.of_session(&id, None).is_ok());
        let first = all.named("b", None).unwrap();
        assert!(Arc::ptr_eq(&first, &all.named("b", None).unwrap()));
        let (other, slot) = all.begin(None, None).unwrap();
        assert_ne!(other, id);
        assert_eq!(slot.name, "session-1");
        assert_eq!(all.named("c", None).unwrap_err(), NoSlot::Full);
        assert!(all.end_session(&id) && !all.end_session(&id));
        // The name is free again, with a state of its own.
        assert!(all.named("a", None).is_ok() && all.end_named("b"));
        assert!(!Arc::ptr_eq(&first, &all.named("b", None).unwrap()));
    }
}
