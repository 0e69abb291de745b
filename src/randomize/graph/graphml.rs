//! The graph as GraphML (graphml.graphdrawing.org): one directed graph with parallel edges.
//!
//! Nodes of kind `begin`, `end`, `call` and `state`; edges of kind `next`, `state`, `retried`
//! and `fixed_by`. Every column of the tables is an attribute of the same name.

use std::collections::BTreeMap;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::{GraphError, Part, Tables};

/// A row: its columns that are not null.
type Fields = BTreeMap<String, String>;

/// Writes the graph, with at most so many states, the most travelled ones; how many
/// transitions between states were left out.
///
/// # Errors
/// If rows cannot be read, or the output ends.
pub fn write_graphml(
    graph: &Tables,
    most_states: usize,
    out: &mut impl Write,
) -> Result<usize, GraphError> {
    let elements = Elements::of(graph, most_states)?;
    write(&elements, out)?;
    Ok(elements.left_out)
}

/// Nodes and edges by number.
struct Elements {
    nodes: Vec<Fields>,
    edges: Vec<(usize, usize, Fields)>,
    /// Attributes and their types, as GraphML names them.
    keys: BTreeMap<String, &'static str>,
    left_out: usize,
}

/// What tells nodes apart: environment, and API with outcome, or state, or an end.
type Place = (String, Option<String>, Option<String>);

impl Elements {
    fn of(graph: &Tables, most_states: usize) -> Result<Self, GraphError> {
        let mut all = Self {
            nodes: Vec::new(),
            edges: Vec::new(),
            keys: BTreeMap::from([
                ("kind".to_owned(), "string"),
                ("label".to_owned(), "string"),
            ]),
            left_out: 0,
        };
        let mut known: BTreeMap<Place, usize> = BTreeMap::new();
        for mut row in all.rows(graph.part(Part::Nodes))? {
            let place = (
                field(&row, "environment"),
                row.get("api").cloned(),
                row.get("outcome").cloned(),
            );
            let label = format!("{} {}", field(&row, "api"), field(&row, "outcome"));
            row.insert("kind".into(), "call".into());
            row.insert("label".into(), label);
            known.insert(place, all.nodes.len());
            all.nodes.push(row);
        }
        for mut row in all.rows(graph.part(Part::Edges))? {
            row.insert("kind".into(), "next".into());
            let from = all.call(&mut known, &mut row, ["from_api", "from_outcome"], "begin");
            let to = all.call(&mut known, &mut row, ["to_api", "to_outcome"], "end");
            all.edges.push((from, to, row));
        }
        for mut row in all.rows(graph.part(Part::Fixes))? {
            let from = all.call(
                &mut known,
                &mut row,
                ["failed_api", "failed_outcome"],
                "begin",
            );
            let to = all.call(
                &mut known,
                &mut row,
                ["repair_api", "repair_outcome"],
                "end",
            );
            all.edges.push((from, to, row));
        }
        let mut states: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
        for mut row in all.rows(graph.part(Part::States))? {
            let environment = field(&row, "environment");
            let ends =
                ["from_state", "to_state"].map(|name| (environment.clone(), row.remove(name)));
            let new = ends.iter().filter(|end| !states.contains_key(*end)).count();
            if states.len() + new > most_states {
                all.left_out += 1;
                continue;
            }
            let [from, to] = ends.map(|end| {
                *states.entry(end).or_insert_with_key(|(environment, hash)| {
                    let label = hash
                        .clone()
                        .unwrap_or_else(|| "before the first call".into());
                    all.nodes.push(Fields::from([
                        ("kind".to_owned(), "state".to_owned()),
                        ("environment".to_owned(), environment.clone()),
                        ("label".to_owned(), label),
                    ]));
                    all.nodes.len() - 1
                })
            });
            row.insert("kind".into(), "state".into());
            all.edges.push((from, to, row));
        }
        Ok(all)
    }

    /// The node at an end of an edge, whose columns the edge does not repeat.
    fn call(
        &mut self,
        known: &mut BTreeMap<Place, usize>,
        row: &mut Fields,
        names: [&str; 2],
        open: &str,
    ) -> usize {
        let environment = field(row, "environment");
        let [api, outcome] = names.map(|name| row.remove(name));
        let kind = if api.is_some() { "call" } else { open };
        let label = api.clone().unwrap_or_else(|| open.to_owned());
        // The ends of runs are two nodes, told apart by their kind.
        let place = match api {
            Some(_) => (environment.clone(), api, outcome),
            None => (environment.clone(), None, Some(open.to_owned())),
        };
        *known.entry(place).or_insert_with(|| {
            self.nodes.push(Fields::from([
                ("kind".to_owned(), kind.to_owned()),
                ("environment".to_owned(), environment),
                ("label".to_owned(), label),
            ]));
            self.nodes.len() - 1
        })
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<Vec<Fields>, GraphError> {
        let schema = batch.schema();
        let mut rows = vec![Fields::new(); batch.num_rows()];
        for (column, about) in batch.columns().iter().zip(schema.fields()) {
            let kind = match about.data_type() {
                DataType::Int64 | DataType::UInt64 | DataType::Int32 => "long",
                DataType::Float64 => "double",
                DataType::Boolean => "boolean",
                _ => "string",
            };
            self.keys.insert(about.name().clone(), kind);
            let options = FormatOptions::default();
            let cells = ArrayFormatter::try_new(column, &options)?;
            for (at, row) in rows.iter_mut().enumerate() {
                if column.is_valid(at) {
                    let text = cells.value(at).try_to_string()?;
                    row.insert(about.name().clone(), text);
                }
            }
        }
        Ok(rows)
    }
}

fn field(row: &Fields, name: &str) -> String {
    row.get(name).cloned().unwrap_or_default()
}

fn write(elements: &Elements, out: &mut impl Write) -> std::io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = BytesStart::new("graphml")
        .with_attributes([("xmlns", "http://graphml.graphdrawing.org/xmlns")]);
    xml.write_event(Event::Start(root))?;
    for side in ["node", "edge"] {
        for (name, kind) in &elements.keys {
            let id = format!("{side}_{name}");
            xml.create_element("key")
                .with_attributes([
                    ("id", id.as_str()),
                    ("for", side),
                    ("attr.name", name.as_str()),
                    ("attr.type", *kind),
                ])
                .write_empty()?;
        }
    }
    let graph = BytesStart::new("graph")
        .with_attributes([("id", "experience"), ("edgedefault", "directed")]);
    xml.write_event(Event::Start(graph))?;
    for (at, fields) in elements.nodes.iter().enumerate() {
        let id = format!("n{at}");
        let start = BytesStart::new("node").with_attributes([("id", id.as_str())]);
        element(&mut xml, start, "node", fields)?;
    }
    for (at, (from, to, fields)) in elements.edges.iter().enumerate() {
        let [id, source, target] = [format!("e{at}"), format!("n{from}"), format!("n{to}")];
        let start = BytesStart::new("edge").with_attributes([
            ("id", id.as_str()),
            ("source", source.as_str()),
            ("target", target.as_str()),
        ]);
        element(&mut xml, start, "edge", fields)?;
    }
    xml.write_event(Event::End(BytesEnd::new("graph")))?;
    xml.write_event(Event::End(BytesEnd::new("graphml")))?;
    xml.get_mut().flush()
}

fn element(
    xml: &mut Writer<impl Write>,
    start: BytesStart<'_>,
    side: &str,
    fields: &Fields,
) -> std::io::Result<()> {
    let end = start.to_end().into_owned();
    xml.write_event(Event::Start(start.clone()))?;
    for (name, value) in fields {
        let key = format!("{side}_{name}");
        let value = allowed(value);
        xml.create_element("data")
            .with_attributes([("key", key.as_str())])
            .write_text_content(BytesText::new(&value))?;
    }
    xml.write_event(Event::End(end))
}

/// XML 1.0 has no place for most control characters, not even escaped (section 2.2).
fn allowed(text: &str) -> String {
    let fine = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars()
        .map(|c| if fine(c) { c } else { '\u{fffd}' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn what_xml_cannot_hold_is_marked() {
        assert_eq!(allowed("a\u{0}\u{1b}[1m\n"), "a\u{fffd}\u{fffd}[1m\n");
        assert_eq!(allowed("\u{ffff}é𝄞"), "\u{fffd}é𝄞");
    }
}
