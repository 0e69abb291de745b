//! The tables of the journal, in a database beside the catalog.
//!
//! `arguments`, `answer`, `task` and `tools` are payloads: they are emptied when
//! the runs that need them are in the lake. Everything else stays: it is small,
//! and the budget is counted by it.

/// The tables.
pub(super) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS dual_plans (
        plan_id TEXT PRIMARY KEY, content TEXT NOT NULL, source TEXT NOT NULL, path TEXT NOT NULL,
        started TEXT NOT NULL, seq INTEGER NOT NULL DEFAULT 0, batch INTEGER NOT NULL DEFAULT 0) STRICT;
    CREATE TABLE IF NOT EXISTS dual_budgets (
        name TEXT NOT NULL, arm TEXT NOT NULL, budget INTEGER, spent INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (name, arm)) STRICT;
    CREATE TABLE IF NOT EXISTS dual_shared_budgets (plan_id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS dual_trajectories (
        plan_id TEXT NOT NULL, trajectory INTEGER NOT NULL, environment TEXT NOT NULL,
        trajectory_id TEXT NOT NULL, task TEXT,
        PRIMARY KEY (plan_id, trajectory)) STRICT;
    CREATE TABLE IF NOT EXISTS dual_runs (
        plan_id TEXT NOT NULL, run INTEGER NOT NULL, trajectory INTEGER NOT NULL, arm TEXT NOT NULL,
        repeat INTEGER NOT NULL, stored_repeat INTEGER NOT NULL, status TEXT NOT NULL,
        starts INTEGER NOT NULL DEFAULT 0, started TEXT, ended TEXT, version TEXT, catalog TEXT,
        termination TEXT, notes TEXT, labels TEXT, mark TEXT, batch INTEGER, folded INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (plan_id, run)) STRICT;
    CREATE INDEX IF NOT EXISTS dual_runs_by_trajectory ON dual_runs (plan_id, trajectory);
    CREATE TABLE IF NOT EXISTS dual_catalogs (
        plan_id TEXT NOT NULL, catalog TEXT NOT NULL, tools TEXT NOT NULL,
        PRIMARY KEY (plan_id, catalog)) STRICT;
    CREATE TABLE IF NOT EXISTS dual_calls (
        plan_id TEXT NOT NULL, seq INTEGER NOT NULL, run INTEGER NOT NULL, position INTEGER NOT NULL,
        name TEXT NOT NULL, call_key TEXT NOT NULL, purpose TEXT NOT NULL, status TEXT NOT NULL,
        fault TEXT, budgeted INTEGER NOT NULL, sent INTEGER NOT NULL, answered INTEGER, latency REAL,
        arguments TEXT, answer TEXT,
        PRIMARY KEY (plan_id, seq)) STRICT;
    CREATE INDEX IF NOT EXISTS dual_calls_by_run ON dual_calls (plan_id, run, position);
";
