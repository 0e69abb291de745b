//! Columns of the catalogue that are numbers of procedures in PostgreSQL, and their names here.
//!
//! Drivers ask `typreceive <> 0` for types that have such a procedure; no procedure is `-` as a name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Statement, Value, visit_expressions_mut,
};

/// Columns of `pg_type` that name a procedure.
const COLUMNS: &[&str] = &["typinput", "typoutput", "typreceive", "typsend"];

/// Compares names with the name of no procedure, where a number was meant.
pub(super) fn by_name(statement: &mut Statement) {
    let _: ControlFlow<()> = visit_expressions_mut(statement, |expression| {
        if let Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq | BinaryOperator::NotEq,
            right,
        } = expression
            && is_procedure(left)
            && let Expr::Value(value) = &mut **right
            && matches!(&value.value, Value::Number(number, _) if number == "0")
        {
            value.value = Value::SingleQuotedString("-".to_owned());
        }
        ControlFlow::Continue(())
    });
}

fn is_procedure(expression: &Expr) -> bool {
    let name = match expression {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    name.is_some_and(|name| COLUMNS.contains(&name.value.to_lowercase().as_str()))
}
