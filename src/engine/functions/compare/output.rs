//! Compared calls as columns.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, Float64Builder, Int32Builder, Int64Builder, ListArray, ListBuilder,
    StringBuilder, StructArray, UInt32Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, exec_datafusion_err};
use fidelake_core::gap::{Kinds, PARTS, SlotGap};

use super::evidence::Sample;

const INTS: [&str; 5] = ["slot", "turn", "index", "sim_runs", "real_runs"];
const TEXTS: [&str; 6] = [
    "api",
    "side",
    "outcome_sim",
    "outcome_real",
    "cause",
    "noise",
];
const NUMBERS: [&str; 9] = [
    "weight",
    "obs_mass",
    "obs_structure",
    "obs_value",
    "obs_confidence",
    "latency_ms_sim",
    "latency_ms_real",
    "visible_after_sim",
    "visible_after_real",
];
const COUNTS: [&str; 6] = [
    "paths_missing",
    "paths_extra",
    "paths_type",
    "paths_value",
    "paths_order",
    "paths_cosmetic",
];
/// Of every component.
const OF_PART: [&str; 7] = [
    "distance",
    "raw",
    "reliability",
    "noise_sim",
    "noise_real",
    "00",
    "11",
];
/// Of every example.
const EVIDENCE: [(&str, DataType); 8] = [
    ("path_id", DataType::Int64),
    ("path", DataType::Utf8),
    ("kind", DataType::Utf8),
    ("cosmetic", DataType::Utf8),
    ("severity", DataType::Utf8),
    ("weight", DataType::Float64),
    ("sim_value", DataType::Utf8),
    ("real_value", DataType::Utf8),
];

fn item(kind: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(kind, true))
}

fn evidence_fields() -> Fields {
    EVIDENCE
        .iter()
        .map(|(name, kind)| Field::new(*name, kind.clone(), true))
        .collect()
}

fn fields() -> Fields {
    let of = |names: &[&str], kind: &DataType| -> Vec<Field> {
        let field = |name: &&str| Field::new(*name, kind.clone(), true);
        names.iter().map(field).collect()
    };
    let parts = PARTS.iter().flat_map(|part| {
        OF_PART.map(|what| Field::new(format!("{part}_{what}"), DataType::Float64, true))
    });
    let lists = [
        Field::new("path_ids", DataType::List(item(DataType::Int64)), true),
        Field::new(
            "path_weights",
            DataType::List(item(DataType::Float64)),
            true,
        ),
        Field::new(
            "evidence",
            DataType::List(item(DataType::Struct(evidence_fields()))),
            true,
        ),
    ];
    of(&INTS, &DataType::Int32)
        .into_iter()
        .chain(of(&TEXTS, &DataType::Utf8))
        .chain(of(&NUMBERS, &DataType::Float64))
        .chain(of(&COUNTS, &DataType::Int32))
        .chain(parts)
        .chain(lists)
        .collect()
}

/// The type of the result.
pub(super) fn list_type() -> DataType {
    DataType::List(item(DataType::Struct(fields())))
}

/// The columns of all compared calls, and which of them belong to which group.
#[derive(Default)]
pub(super) struct Output {
    ints: [Int32Builder; 5],
    texts: [StringBuilder; 6],
    numbers: [Float64Builder; 9],
    counts: [Int32Builder; 6],
    parts: [[Float64Builder; 7]; 7],
    path_ids: ListBuilder<Int64Builder>,
    path_weights: ListBuilder<Float64Builder>,
    samples: Samples,
    rows: usize,
    /// (group, its first row, behind its last row), in the order of writing.
    groups: Vec<(usize, usize, usize)>,
}

#[derive(Default)]
struct Samples {
    ids: Int64Builder,
    texts: [StringBuilder; 6],
    weights: Float64Builder,
    /// Samples of each call.
    lengths: Vec<usize>,
}

impl Samples {
    fn push(&mut self, samples: &[Sample]) {
        for sample in samples {
            self.ids.append_value(sample.id);
            self.weights.append_value(sample.weight);
            let [path, kind, cosmetic, severity, sim, real] = &mut self.texts;
            path.append_value(&sample.path);
            kind.append_value(sample.kind);
            cosmetic.append_option(sample.cosmetic);
            severity.append_value(sample.severity);
            sim.append_option(sample.sim.as_deref());
            real.append_option(sample.real.as_deref());
        }
        self.lengths.push(samples.len());
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let [path, kind, cosmetic, severity, sim, real] = &mut self.texts;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.ids.finish()),
            Arc::new(path.finish()),
            Arc::new(kind.finish()),
            Arc::new(cosmetic.finish()),
            Arc::new(severity.finish()),
            Arc::new(self.weights.finish()),
            Arc::new(sim.finish()),
            Arc::new(real.finish()),
        ];
        let rows = StructArray::try_new(evidence_fields(), columns, None)?;
        let ends = OffsetBuffer::from_lengths(self.lengths.drain(..));
        let list = ListArray::try_new(
            item(DataType::Struct(evidence_fields())),
            ends,
            Arc::new(rows),
            None,
        )?;
        Ok(Arc::new(list))
    }
}

impl Output {
    /// One compared call.
    pub(super) fn push(&mut self, gap: &SlotGap<'_>, samples: &[Sample]) {
        let int = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        let runs = gap.runs.map(|n| int(n as usize));
        let ints = [int(gap.slot), gap.turn, gap.index, runs[0], runs[1]];
        for (builder, value) in self.ints.iter_mut().zip(ints) {
            builder.append_value(value);
        }
        let side = match gap.runs {
            [_, 0] => "sim_only",
            [0, _] => "real_only",
            _ => "both",
        };
        let [obs, _, outcome, ..] = &gap.parts;
        let texts = [
            Some(gap.api),
            Some(side),
            gap.outcomes[0],
            gap.outcomes[1],
            Some(gap.cause.name()),
            obs.noise.or(outcome.noise).map(|noise| noise.name()),
        ];
        for (builder, value) in self.texts.iter_mut().zip(texts) {
            builder.append_option(value);
        }
        let [mass, structure, value, confidence] = gap.answers;
        let [sim, real] = gap.latency_ms;
        let visible = gap.visible_after;
        let numbers = [
            Some(gap.weight),
            mass,
            structure,
            value,
            confidence,
            sim,
            real,
            visible[0],
            visible[1],
        ];
        for (builder, value) in self.numbers.iter_mut().zip(numbers) {
            builder.append_option(value);
        }
        for (builder, value) in self.counts.iter_mut().zip(counts(gap.kinds)) {
            builder.append_option(value);
        }
        for (builders, part) in self.parts.iter_mut().zip(&gap.parts) {
            let values = [
                part.distance,
                part.raw,
                part.reliability,
                part.own[0],
                part.own[1],
                part.first,
                part.second,
            ];
            for (builder, value) in builders.iter_mut().zip(values) {
                builder.append_option(value);
            }
        }
        for loss in &gap.paths {
            self.path_ids.values().append_value(loss.id);
            self.path_weights.values().append_value(loss.weight);
        }
        self.path_ids.append(true);
        self.path_weights.append(true);
        self.samples.push(samples);
        self.rows += 1;
    }

    /// What was pushed since the last group is this one.
    pub(super) fn end_group(&mut self, group: usize) {
        let from = self.groups.last().map_or(0, |&(_, _, to)| to);
        self.groups.push((group, from, self.rows));
    }

    /// One list per group, in the order of the groups.
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        let ints = self
            .ints
            .iter_mut()
            .map(|b| Arc::new(b.finish()) as ArrayRef);
        let texts = self
            .texts
            .iter_mut()
            .map(|b| Arc::new(b.finish()) as ArrayRef);
        let numbers = self.numbers.iter_mut();
        let numbers = numbers.map(|b| Arc::new(b.finish()) as ArrayRef);
        let counts = self
            .counts
            .iter_mut()
            .map(|b| Arc::new(b.finish()) as ArrayRef);
        let parts = self.parts.iter_mut().flatten();
        let parts = parts.map(|b| Arc::new(b.finish()) as ArrayRef);
        let lists: [ArrayRef; 3] = [
            Arc::new(self.path_ids.finish()),
            Arc::new(self.path_weights.finish()),
            self.samples.finish()?,
        ];
        let columns = ints
            .chain(texts)
            .chain(numbers)
            .chain(counts)
            .chain(parts)
            .chain(lists);
        let rows: ArrayRef = Arc::new(StructArray::try_new(fields(), columns.collect(), None)?);

        let written = self.groups.is_sorted();
        self.groups.sort_unstable();
        let lengths = self.groups.iter().map(|&(_, from, to)| to - from);
        let ends = OffsetBuffer::from_lengths(lengths);
        let rows = if written {
            rows
        } else {
            let order = self.groups.iter().flat_map(|&(_, from, to)| from..to);
            let order: Vec<u32> = order
                .map(u32::try_from)
                .collect::<Result<_, _>>()
                .map_err(|_| exec_datafusion_err!("more than 4 billion calls at once"))?;
            take(&rows, &UInt32Array::from(order), None)?
        };
        let kind = rows.data_type().clone();
        Ok(Arc::new(ListArray::try_new(item(kind), ends, rows, None)?))
    }
}

fn counts(kinds: Option<Kinds>) -> [Option<i32>; 6] {
    let Some(k) = kinds else { return [None; 6] };
    [k.missing, k.extra, k.type_, k.value, k.order, k.cosmetic]
        .map(|count| Some(i32::try_from(count).unwrap_or(i32::MAX)))
}
