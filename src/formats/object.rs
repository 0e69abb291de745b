//! Writing one JSON object, key by key, in the order in which they come.

use fidelake_core::json::{Doc, Kind, push_json_string};

/// Builds one JSON object.
#[derive(Debug, Default)]
pub(crate) struct Object {
    text: String,
    keys: Vec<Box<str>>,
}

impl Object {
    /// Adds JSON text.
    pub(crate) fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        push_json_string(key, &mut self.text);
        self.keys.push(key.into());
        self.text.push(':');
        self.text.push_str(json);
        self
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, key: &str, text: &str) -> &mut Self {
        let mut json = String::with_capacity(text.len() + 2);
        push_json_string(text, &mut json);
        self.raw(key, &json)
    }

    /// Adds a text, if there is one.
    pub(crate) fn opt_text(&mut self, key: &str, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.text(key, text);
        }
        self
    }

    /// Adds a value that spells itself, if there is one.
    pub(crate) fn opt(&mut self, key: &str, value: Option<impl ToString>) -> &mut Self {
        if let Some(value) = value {
            self.raw(key, &value.to_string());
        }
        self
    }

    /// Adds the keys of another object that are not there yet, but the `known` ones.
    /// What is no object adds nothing.
    pub(crate) fn rest(&mut self, object: &str, known: &[&str]) -> &mut Self {
        if let Ok(doc) = Doc::parse(object)
            && doc.root().kind() == Kind::Object
        {
            for (key, value) in doc.root().entries() {
                if !known.contains(&key) && !self.keys.iter().any(|there| **there == *key) {
                    self.raw(key, value.raw());
                }
            }
        }
        self
    }

    pub(crate) fn finish(&mut self) -> String {
        if self.text.is_empty() {
            return "{}".to_owned();
        }
        let mut text = std::mem::take(&mut self.text);
        text.push('}');
        text
    }
}
