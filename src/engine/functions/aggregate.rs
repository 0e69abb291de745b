//! Aggregates that collect the rows of their groups and compute all groups at
//! once, at the end: right for groups as small as a trajectory. The order of the
//! rows does not matter, because every function over them sorts first.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, ListArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};

use super::groups::{Groups, conform};
use super::{Doc, Function};

/// Computes one value per group from the rows of all groups: those of group g
/// stand in `columns` from `ends[g]` to `ends[g + 1]`.
pub(super) type Compute = Arc<dyn Fn(&[ArrayRef], &[usize]) -> Result<ArrayRef> + Send + Sync>;

struct Collecting {
    name: &'static str,
    signature: Signature,
    arguments: Vec<DataType>,
    result: DataType,
    compute: Compute,
}

impl std::fmt::Debug for Collecting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Collecting {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.compute, &other.compute)
    }
}

impl Eq for Collecting {}

impl Hash for Collecting {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl AggregateUDFImpl for Collecting {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Rows {
            arguments: self.arguments.clone(),
            parts: vec![Vec::new(); self.arguments.len()],
            compute: Arc::clone(&self.compute),
        }))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        _: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(
            self.arguments.clone(),
            Arc::clone(&self.compute),
        )))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |(at, kind): (usize, &DataType)| -> FieldRef {
            let item = Arc::new(Field::new_list_field(kind.clone(), true));
            Arc::new(Field::new(
                format!("{}_{at}", args.name),
                DataType::List(item),
                true,
            ))
        };
        Ok(self.arguments.iter().enumerate().map(field).collect())
    }
}

/// The rows of one group, where a query has only one.
struct Rows {
    arguments: Vec<DataType>,
    /// Pieces of each argument's column.
    parts: Vec<Vec<ArrayRef>>,
    compute: Compute,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

/// The pieces of a column in one piece.
pub(super) fn join(parts: &[ArrayRef], kind: &DataType) -> Result<ArrayRef> {
    match parts {
        [] => Ok(new_empty_array(kind)),
        [only] => Ok(Arc::clone(only)),
        many => {
            let many: Vec<&dyn arrow::array::Array> = many.iter().map(AsRef::as_ref).collect();
            Ok(arrow::compute::concat(&many)?)
        }
    }
}

impl Rows {
    fn columns(&self) -> Result<Vec<ArrayRef>> {
        let columns = self.parts.iter().zip(&self.arguments);
        columns.map(|(parts, kind)| join(parts, kind)).collect()
    }
}

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for ((parts, kind), value) in self.parts.iter_mut().zip(&self.arguments).zip(values) {
            if !value.is_empty() {
                parts.push(conform(value, kind)?);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let columns = self.columns()?;
        let rows = columns.first().map_or(0, |column| column.len());
        let found = (self.compute)(&columns, &[0, rows])?;
        ScalarValue::try_from_array(&found, 0)
    }

    fn size(&self) -> usize {
        size(self.parts.iter())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let columns = self.columns()?;
        let list = |column: ArrayRef| {
            let item = Arc::new(Field::new_list_field(column.data_type().clone(), true));
            let ends = OffsetBuffer::from_lengths([column.len()]);
            let list = ListArray::try_new(item, ends, column, None)?;
            Ok(ScalarValue::List(Arc::new(list)))
        };
        columns.into_iter().map(list).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (parts, lists) in self.parts.iter_mut().zip(states) {
            let lists = lists.as_list::<i32>();
            for row in 0..lists.len() {
                if lists.is_valid(row) && !lists.value(row).is_empty() {
                    parts.push(lists.value(row));
                }
            }
        }
        Ok(())
    }
}

/// Bytes of collected columns, about. Texts are views: their bytes stand in the
/// batches they came from, which all columns share, so counting buffers here would
/// count them many times.
pub(super) fn size<'p>(columns: impl Iterator<Item = &'p Vec<ArrayRef>>) -> usize {
    const ROW_BYTES: usize = 16;
    const PIECE_BYTES: usize = 128;

    columns
        .flatten()
        .map(|piece| piece.len() * ROW_BYTES + PIECE_BYTES)
        .sum()
}

/// An aggregate over the collected rows of groups.
pub(super) fn collecting(
    doc: Doc,
    arguments: Vec<DataType>,
    result: DataType,
    compute: impl Fn(&[ArrayRef], &[usize]) -> Result<ArrayRef> + Send + Sync + 'static,
) -> Function {
    let signature = Signature::exact(arguments.clone(), Volatility::Immutable);
    let udf = AggregateUDF::new_from_impl(Collecting {
        name: doc.name,
        signature,
        arguments,
        result,
        compute: Arc::new(compute),
    });
    Function::Aggregate(udf, doc)
}
