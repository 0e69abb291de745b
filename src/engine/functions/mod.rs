//! Our SQL functions. One list registers them, documents them and tests their
//! examples, here and on any other session that needs them.

mod aggregate;
mod groups;
mod scalar;

mod along;
mod answers;
mod arguments;
mod catalogs;
mod compare;
mod decisions;
mod distributions;
mod exact;
mod fields;
mod firsts;
mod noise;
mod outcomes;
mod profiles;
mod region;
mod settings;
mod texts;
mod verdicts;
mod window;

pub(crate) use answers::stored;
pub(crate) use catalogs::fields as catalog_fields;
pub(crate) use decisions::fields as decision_fields;
pub(crate) use settings::{Samples, Settings};
use std::sync::Arc;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use datafusion::prelude::SessionContext;

/// What a function is for.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// Name.
    pub name: &'static str,
    /// Arguments and result, as people write them.
    pub signature: &'static str,
    /// What it computes, in which range, and when it is null.
    pub doc: &'static str,
    /// A query that can be run as it stands.
    pub example: &'static str,
    /// What the example gives, as text.
    pub gives: &'static str,
}

/// A function of ours.
pub enum Function {
    /// One value per row.
    Scalar(ScalarUDF, Doc),
    /// One value per group.
    Aggregate(AggregateUDF, Doc),
    /// One value per row, from all rows of its window.
    Window(WindowUDF, Doc),
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.doc().name)
    }
}

impl Function {
    /// What it is for.
    #[must_use]
    pub const fn doc(&self) -> &Doc {
        match self {
            Self::Scalar(_, doc) | Self::Aggregate(_, doc) | Self::Window(_, doc) => doc,
        }
    }

    /// `scalar`, `aggregate` or `window`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Scalar(..) => "scalar",
            Self::Aggregate(..) => "aggregate",
            Self::Window(..) => "window",
        }
    }
}

/// All of them, as a lake without any knowledge has them.
#[must_use]
pub fn all() -> Vec<Function> {
    all_with(&Arc::default())
}

fn all_with(settings: &Arc<Settings>) -> Vec<Function> {
    let mut all = Vec::new();
    all.extend(texts::functions());
    all.extend(answers::functions());
    all.extend(arguments::functions());
    all.extend(catalogs::functions());
    all.extend(verdicts::functions());
    all.extend(fields::functions());
    all.extend(noise::functions());
    all.extend(exact::functions());
    all.extend(firsts::functions());
    all.extend(distributions::functions());
    all.extend(outcomes::functions());
    all.extend(profiles::functions());
    all.extend(window::functions());
    all.push(compare::function(settings));
    all.push(compare::variations());
    all.extend(decisions::functions(settings));
    all.extend(along::functions());
    all.extend(region::functions());
    all
}

/// Makes them known to a session.
pub fn register_all(context: &SessionContext) {
    register_with(context, &Arc::default());
}

/// The same with what a lake knows.
pub(crate) fn register_with(context: &SessionContext, settings: &Arc<Settings>) {
    for function in all_with(settings) {
        match function {
            Function::Scalar(udf, _) => context.register_udf(udf),
            Function::Aggregate(udf, _) => context.register_udaf(udf),
            Function::Window(udf, _) => context.register_udwf(udf),
        }
    }
}
