//! An aggregate that collects the rows of its group and computes once, at the
//! end: right for groups as small as a trajectory. The order of the rows does
//! not matter, because every function over them sorts first.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};

use super::{Doc, Function};

/// Computes one value from the rows of a group.
pub(super) type Compute = fn(&[ArrayRef]) -> Result<ScalarValue>;

#[derive(Debug)]
struct Collecting {
    name: &'static str,
    signature: Signature,
    arguments: Vec<DataType>,
    result: DataType,
    compute: Compute,
}

impl PartialEq for Collecting {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
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
            compute: self.compute,
        }))
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

#[derive(Debug)]
struct Rows {
    arguments: Vec<DataType>,
    /// Pieces of each argument's column.
    parts: Vec<Vec<ArrayRef>>,
    compute: Compute,
}

impl Rows {
    fn columns(&self) -> Result<Vec<ArrayRef>> {
        let joined = |(parts, kind): (&Vec<ArrayRef>, &DataType)| -> Result<ArrayRef> {
            let parts: Vec<&dyn arrow::array::Array> = parts.iter().map(AsRef::as_ref).collect();
            match parts.as_slice() {
                [] => Ok(new_empty_array(kind)),
                [only] => Ok(arrow::array::make_array(only.to_data())),
                many => Ok(arrow::compute::concat(many)?),
            }
        };
        self.parts.iter().zip(&self.arguments).map(joined).collect()
    }
}

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for ((parts, kind), value) in self.parts.iter_mut().zip(&self.arguments).zip(values) {
            let value = if value.data_type() == kind {
                Arc::clone(value)
            } else {
                arrow::compute::cast(value, kind)?
            };
            if !value.is_empty() {
                parts.push(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        (self.compute)(&self.columns()?)
    }

    fn size(&self) -> usize {
        // Texts are views: their bytes stand in the batches they came from, which
        // many groups share, so counting buffers here would count them many times.
        const ROW_BYTES: usize = 24;
        let rows: usize = self.parts.iter().flatten().map(|a| a.len()).sum();
        let pieces: usize = self.parts.iter().map(Vec::len).sum();
        std::mem::size_of_val(self) + rows * ROW_BYTES + pieces * 128
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let columns = self.columns()?;
        Ok(columns
            .into_iter()
            .map(|column| SingleRowListArrayBuilder::new(column).build_list_scalar())
            .collect())
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

/// An aggregate over the collected rows of a group.
pub(super) fn collecting(
    doc: Doc,
    arguments: Vec<DataType>,
    result: DataType,
    compute: Compute,
) -> Function {
    let signature = Signature::exact(arguments.clone(), Volatility::Immutable);
    let udf = AggregateUDF::new_from_impl(Collecting {
        name: doc.name,
        signature,
        arguments,
        result,
        compute,
    });
    Function::Aggregate(udf, doc)
}
