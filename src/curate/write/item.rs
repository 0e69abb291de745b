//! A row with all that the formats take from it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::curate::chat::ChatCounts;
use crate::curate::message::Chat;
use crate::curate::privacy::MaskCounts;
use crate::curate::weigh::Row;

/// A row of the shards, ready to be written.
#[derive(Clone, Debug)]
pub(in crate::curate) struct Item {
    pub(in crate::curate) rows: Arc<Vec<Row>>,
    /// Where its row stands.
    pub(in crate::curate) place: usize,
    /// Where it stands in its part of the data set, from 0.
    pub(in crate::curate) number: u64,
    pub(in crate::curate) arm: &'static str,
    pub(in crate::curate) chat: Chat,
    /// The tools in the OpenAI form, as JSON.
    pub(in crate::curate) tools: Arc<str>,
    /// The calls said to be right, as JSON.
    pub(in crate::curate) gold: Option<String>,
    /// One weight per call of `chat`, in its order.
    pub(in crate::curate) call_weights: Vec<f64>,
    /// The weight that the row would have without its repair.
    pub(in crate::curate) original_weight: f64,
}

impl Item {
    /// What was decided about it.
    pub(in crate::curate) fn row(&self) -> &Row {
        &self.rows[self.place]
    }

    /// Bytes of its payload, by which shards are cut.
    pub(in crate::curate) fn size(&self) -> u64 {
        let chat = self.chat.messages.iter().chain(self.chat.prompt());
        let chat: usize = chat.map(|m| m.size() + m.role.len()).sum();
        let gold = self.gold.as_ref().map_or(0, String::len);
        (chat + self.tools.len() + gold) as u64
    }
}

/// What was counted while rows were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::curate) struct Totals {
    pub(in crate::curate) chats: ChatCounts,
    pub(in crate::curate) masked: MaskCounts,
}

impl Totals {
    /// Counts of other rows.
    pub(in crate::curate) fn add(&mut self, other: &Self) {
        self.chats.add(&other.chats);
        for (rule, times) in &other.masked {
            *self.masked.entry(rule.clone()).or_default() += times;
        }
    }
}
