//! Differences of what was offered.

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Builder, Int32Builder, StringArray};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use fidelake_core::gap::{Comparer, Tool, catalog_gap};
use fidelake_core::json::Doc as Json;

use super::aggregate::collecting;
use super::scalar::{column, numbers_and_counts, scalar, text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;
const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    vec![
        collecting(
            Doc {
                name: "tools",
                signature: "tools(tool_index int, name text, description text, parameters text) -> text",
                doc: "A catalog as one JSON text, tools in their order: what catalog_gap compares.",
                example: r#"SELECT tools(CAST(0 AS INT), 'f', 'does f', '{}') AS t"#,
                gives: r#"[{"name":"f","description":"does f","parameters":"{}"}]"#,
            },
            vec![DataType::Int32, TEXT, TEXT, TEXT],
            DataType::Utf8,
            tools,
        ),
        scalar(
            Doc {
                name: "catalog_gap",
                signature: "catalog_gap(tools_sim text, tools_real text) -> struct<obs, act, rew, added, removed, renamed, changed>",
                doc: "How far apart two catalogs (from `tools`) look, 0 to 1 each: `act` tools added, removed or with another schema; `rew` renamed tools and texts of cost, latency or endorsement; `obs` the other descriptions. Null if either is null.",
                example: r#"SELECT catalog_gap('[]', '[]')['act'] AS d"#,
                gives: "0.0",
            },
            vec![TEXT, TEXT],
            DataType::Struct(fields()),
            catalogs,
        ),
    ]
}

fn tools(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let order = columns[0].as_primitive::<arrow::datatypes::Int32Type>();
    let [names, descriptions, parameters] = [
        texts(&columns[1])?,
        texts(&columns[2])?,
        texts(&columns[3])?,
    ];
    let list = |group: &[usize]| {
        let mut rows: Vec<usize> = (group[0]..group[1])
            .filter(|&row| order.is_valid(row) && order.value(row) >= 0)
            .collect();
        rows.sort_by_key(|&row| order.value(row));
        let mut out = String::from("[");
        for row in rows {
            if out.len() > 1 {
                out.push(',');
            }
            let keys = [
                ("{\"name\":", &names),
                (",\"description\":", &descriptions),
                (",\"parameters\":", &parameters),
            ];
            for (key, values) in keys {
                out.push_str(key);
                let value = text(values, row).unwrap_or_default();
                fidelake_core::json::push_json_string(value, &mut out);
            }
            out.push('}');
        }
        out.push(']');
        Some(out)
    };
    column(ends.windows(2).map(list).collect::<StringArray>())
}

/// What `catalog_gap` tells.
pub(crate) fn fields() -> Fields {
    let numbers = ["obs", "act", "rew"]
        .iter()
        .map(|name| Field::new(*name, NUMBER, true));
    let counts = ["added", "removed", "renamed", "changed"]
        .iter()
        .map(|name| Field::new(*name, DataType::Int32, true));
    numbers.chain(counts).collect()
}

pub(super) fn read_tools<'d>(doc: &'d Json<'_>) -> Vec<Tool<'d>> {
    let tools = doc.root().elements();
    tools
        .map(|tool| Tool {
            name: tool.get_str("name").unwrap_or_default(),
            description: tool.get_str("description").unwrap_or_default(),
            parameters: tool.get_str("parameters").unwrap_or_default(),
        })
        .collect()
}

fn catalogs(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (sim, real) = (texts(&args[0])?, texts(&args[1])?);
    let mut numbers: Vec<Float64Builder> = (0..3).map(|_| Float64Builder::new()).collect();
    let mut counts: Vec<Int32Builder> = (0..4).map(|_| Int32Builder::new()).collect();
    let mut valid = Vec::with_capacity(sim.len());
    let mut comparer = Comparer::default();
    for row in 0..sim.len() {
        let docs = text(&sim, row).zip(text(&real, row));
        let docs = docs.and_then(|(a, b)| Some((Json::parse(a).ok()?, Json::parse(b).ok()?)));
        let gap = docs
            .as_ref()
            .map(|(a, b)| catalog_gap(&read_tools(a), &read_tools(b), &mut comparer));
        valid.push(gap.is_some());
        let gap = gap.unwrap_or_default();
        for (builder, value) in numbers.iter_mut().zip([gap.obs, gap.act, gap.rew]) {
            // A sum of nothing is -0.0, which would be printed so.
            builder.append_value(value + 0.0);
        }
        for (builder, value) in
            counts
                .iter_mut()
                .zip([gap.added, gap.removed, gap.renamed, gap.schema_changed])
        {
            builder.append_value(i32::try_from(value).unwrap_or(i32::MAX));
        }
    }
    numbers_and_counts(fields(), &mut numbers, &mut counts, valid)
}
