//! A scalar function from a name, a signature and a function over columns.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, StringViewArray};
use arrow::array::{Float64Builder, Int32Builder, StructArray};
use arrow::datatypes::{DataType, Fields};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::{Doc, Function};

/// Computes a column from columns of equal length.
type Compute = Arc<dyn Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync>;

struct Scalar {
    name: &'static str,
    signature: Signature,
    result: DataType,
    compute: Compute,
}

impl std::fmt::Debug for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.compute, &other.compute)
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Scalar {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let arrays = args
            .args
            .into_iter()
            .map(|arg| arg.into_array(rows))
            .collect::<Result<Vec<_>>>()?;
        let column = (self.compute)(&arrays)?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &column, 0,
            )?));
        }
        Ok(ColumnarValue::Array(column))
    }
}

/// A scalar function with exact argument types. Texts may come as `Utf8`,
/// `LargeUtf8`, views or dictionaries: they are cast to views.
pub(super) fn scalar(
    doc: Doc,
    arguments: Vec<DataType>,
    result: DataType,
    compute: impl Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync + 'static,
) -> Function {
    let signature = Signature::exact(arguments, Volatility::Immutable);
    let udf = ScalarUDF::new_from_impl(Scalar {
        name: doc.name,
        signature,
        result,
        compute: Arc::new(compute),
    });
    Function::Scalar(udf, doc)
}

/// A column of texts.
pub(super) fn texts(array: &ArrayRef) -> Result<StringViewArray> {
    match array.data_type() {
        DataType::Utf8View => Ok(array.as_string_view().clone()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Dictionary(_, _) | DataType::Null => {
            Ok(arrow::compute::cast(array, &DataType::Utf8View)?
                .as_string_view()
                .clone())
        }
        other => exec_err!("a text is needed, not {other}"),
    }
}

/// The text of a row; `None` if null.
pub(super) fn text(array: &StringViewArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

pub(super) fn column<A: Array + 'static>(array: A) -> Result<ArrayRef> {
    Ok(Arc::new(array))
}

/// A struct column of numbers, then counts; rows that are not valid are null.
pub(super) fn numbers_and_counts(
    fields: Fields,
    numbers: &mut [Float64Builder],
    counts: &mut [Int32Builder],
    valid: Vec<bool>,
) -> Result<ArrayRef> {
    let numbers = numbers.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
    let counts = counts.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
    let columns = numbers.chain(counts).collect();
    column(StructArray::try_new(fields, columns, Some(valid.into()))?)
}
