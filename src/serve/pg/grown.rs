//! Functions whose answer is as large as a number in the question says, with a bound: what a function
//! makes is not counted by the memory pool of a query.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, FieldRef, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::FunctionRegistry as _;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::prelude::SessionContext;

/// Most bytes of texts, or members of lists, that one call makes for a batch of rows.
const MOST: u64 = 64 << 20;

/// How the size of an answer follows from the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Growth {
    /// The first argument, as often as the second says.
    Times,
    /// As long as the second argument says.
    Long,
    /// As many members as the second argument says, each the third.
    Filled,
    /// From the first to the second argument by steps of the third.
    Steps,
}

const GROWING: [(&str, Growth); 7] = [
    ("repeat", Growth::Times),
    ("lpad", Growth::Long),
    ("rpad", Growth::Long),
    ("array_repeat", Growth::Times),
    ("array_resize", Growth::Filled),
    ("range", Growth::Steps),
    ("generate_series", Growth::Steps),
];

/// Puts bounds on the functions of a session that need them.
pub(super) fn bound(context: &SessionContext) {
    for (name, growth) in GROWING {
        if let Ok(inner) = context.state().udf(name) {
            context.register_udf(ScalarUDF::new_from_impl(Bounded { inner, growth }));
        }
    }
}

/// A function that first counts what it would make.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    growth: Growth,
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let size = self.size(&args)?;
        if size > MOST {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} would make about {size} bytes or members at once, and at most {MOST} are made",
                self.name()
            )));
        }
        self.inner.invoke_with_args(args)
    }
}

impl Bounded {
    /// About how much the call makes.
    fn size(&self, args: &ScalarFunctionArgs) -> Result<u64> {
        let one_value = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if one_value { 1 } else { args.number_rows };
        let number = |at: usize| match args.args.get(at) {
            Some(arg) => Ok(Some(cast(&arg.to_array(rows)?, &DataType::Int64)?)),
            None => Ok::<Option<ArrayRef>, DataFusionError>(None),
        };
        let value = |array: &Option<ArrayRef>, row: usize| {
            let array = array.as_ref()?.as_primitive::<Int64Type>();
            array.is_valid(row).then(|| array.value(row))
        };
        let each = |of: &dyn Fn(usize) -> u64| {
            let sizes = (0..rows).map(of);
            sizes.fold(0u64, u64::saturating_add)
        };
        let positive = |n: i64| u64::try_from(n).unwrap_or_default();
        match self.growth {
            Growth::Times | Growth::Filled => {
                let times = number(1)?;
                let repeated = if self.growth == Growth::Times { 0 } else { 2 };
                let lengths = lengths(args.args.get(repeated), rows)?;
                let of = |row: usize| {
                    let times = positive(value(&times, row).unwrap_or_default());
                    times.saturating_mul(lengths.get(row).copied().unwrap_or(1))
                };
                Ok(each(&of))
            }
            Growth::Long => {
                let long = number(1)?;
                Ok(each(&|row| positive(value(&long, row).unwrap_or_default())))
            }
            Growth::Steps => {
                let parts = match whole(args) {
                    true => [number(0)?, number(1)?, number(2)?],
                    false => times(args, rows)?,
                };
                let of = |row: usize| {
                    let step = value(&parts[2], row).unwrap_or(1).unsigned_abs().max(1);
                    let (from, to) = match &parts[1] {
                        None => (0, value(&parts[0], row).unwrap_or_default()),
                        some => (
                            value(&parts[0], row).unwrap_or_default(),
                            value(some, row).unwrap_or_default(),
                        ),
                    };
                    from.abs_diff(to) / step
                };
                Ok(each(&of))
            }
        }
    }
}

/// Bytes of every text, and about those of every list and other value that has parts; empty for what is one member.
fn lengths(arg: Option<&ColumnarValue>, rows: usize) -> Result<Vec<u64>> {
    let Some(arg) = arg else {
        return Ok(Vec::new());
    };
    let kind = arg.data_type();
    if kind.is_primitive() || matches!(kind, DataType::Null | DataType::Boolean) {
        return Ok(Vec::new());
    }
    let values = arg.to_array(rows)?;
    if !kind.is_string() {
        let each = values.get_array_memory_size() / rows.max(1);
        return Ok(vec![each as u64; rows]);
    }
    let texts = cast(&values, &DataType::LargeUtf8)?;
    let texts = texts.as_string::<i64>();
    Ok((0..texts.len())
        .map(|row| texts.value(row).len() as u64)
        .collect())
}

/// First, last and step of a series of days or times, in nanoseconds; a month has 28 days.
fn times(args: &ScalarFunctionArgs, rows: usize) -> Result<[Option<ArrayRef>; 3]> {
    const DAY: i64 = 86_400_000_000_000;
    let moment = |at: usize| -> Result<Option<ArrayRef>> {
        let Some(arg) = args.args.get(at) else {
            return Ok(None);
        };
        let kind = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let moments = cast(&arg.to_array(rows)?, &kind)?;
        Ok(Some(cast(&moments, &DataType::Int64)?))
    };
    let Some(step) = args.args.get(2) else {
        return Ok([moment(0)?, moment(1)?, None]);
    };
    let kind = DataType::Interval(IntervalUnit::MonthDayNano);
    let steps = cast(&step.to_array(rows)?, &kind)?;
    let steps = steps
        .as_primitive::<IntervalMonthDayNanoType>()
        .iter()
        .map(|step| {
            let step = step?;
            let days = i64::from(step.months) * 28 + i64::from(step.days);
            Some(days.saturating_mul(DAY).saturating_add(step.nanoseconds))
        });
    let steps: Int64Array = steps.collect();
    Ok([moment(0)?, moment(1)?, Some(Arc::new(steps))])
}

/// Whether a series is one of whole numbers.
fn whole(args: &ScalarFunctionArgs) -> bool {
    args.args.iter().all(|arg| arg.data_type().is_integer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_too_large_is_refused_and_the_rest_is_not() {
        let context = SessionContext::new();
        bound(&context);
        let run = async |sql: &str| context.sql(sql).await?.collect().await;
        for sql in [
            "SELECT repeat('ab', 3), lpad('a', 5), array_repeat(1, 3), range(10), generate_series(1, 9, 2)",
            "SELECT length(repeat('x', 60000000))",
            "SELECT array_repeat([1, 2], 3), array_resize([1], 3), array_resize([[1]], 3, [2]), array_repeat(true, 2)",
            "SELECT range(timestamp '2026-01-01', timestamp '2026-01-05', interval '1 day')",
            "SELECT repeat(NULL, 3), repeat('x', NULL), repeat('x', -5)",
        ] {
            let found = run(sql).await;
            assert!(found.is_ok(), "{sql}: {found:?}");
        }
        for sql in [
            "SELECT length(repeat('x', 2000000000))",
            "SELECT length(repeat(repeat('x', 60000000), 60000000))",
            "SELECT length(lpad('x', 2000000000))",
            "SELECT length(rpad('x', 2000000000, 'yy'))",
            "SELECT cardinality(array_repeat(1, 2000000000))",
            "SELECT cardinality(array_resize([1], 2000000000))",
            "SELECT cardinality(array_repeat(range(1000000), 60000000))",
            "SELECT cardinality(array_resize(['a'], 60000000, repeat('x', 1000)))",
            "SELECT cardinality(range(0, 9000000000000000000))",
            "SELECT cardinality(range(timestamp '2026-01-01', timestamp '2026-01-05', interval '1 microsecond'))",
            "SELECT sum(length(repeat('x', CAST(n AS BIGINT) * 1000000))) FROM (VALUES (60), (61), (62)) AS t(n)",
        ] {
            let found = run(sql).await;
            let text = found.err().map(|e| e.to_string()).unwrap_or_default();
            assert!(text.contains("would make"), "{sql}: {text}");
        }
    }
}
