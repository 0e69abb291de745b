//! Rows of many groups, collected together: no allocation and no array per group.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, ListArray, UInt32Array};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, filter, take};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::aggregate::{Compute, join, size};

/// A column in the type that the function was promised.
pub(super) fn conform(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    if column.data_type() == kind {
        return Ok(Arc::clone(column));
    }
    Ok(cast(column, kind)?)
}

/// The rows of all groups, in pieces as they came.
pub(super) struct Groups {
    arguments: Vec<DataType>,
    /// Pieces of each argument's column.
    parts: Vec<Vec<ArrayRef>>,
    /// The group of every row.
    groups: Vec<u32>,
    count: usize,
    compute: Compute,
}

impl Groups {
    pub(super) fn new(arguments: Vec<DataType>, compute: Compute) -> Self {
        Self {
            parts: vec![Vec::new(); arguments.len()],
            arguments,
            groups: Vec::new(),
            count: 0,
            compute,
        }
    }

    /// The columns of the groups to emit, sorted by group, and where each begins.
    /// What is not emitted stays.
    fn emit(&mut self, emit_to: EmitTo) -> Result<(Vec<ArrayRef>, Vec<usize>)> {
        let emitted = match emit_to {
            EmitTo::All => self.count,
            EmitTo::First(n) => n.min(self.count),
        };
        let mut ends = vec![0usize; emitted + 1];
        for &group in &self.groups {
            if let Some(end) = ends.get_mut(group as usize + 1) {
                *end += 1;
            }
        }
        for group in 0..emitted {
            ends[group + 1] += ends[group];
        }
        let sorted = self.groups.is_sorted() && emitted == self.count;
        let columns = self.parts.iter().zip(&self.arguments);
        let whole: Vec<ArrayRef> = columns
            .map(|(parts, kind)| join(parts, kind))
            .collect::<Result<_>>()?;
        let columns = if sorted {
            whole.clone()
        } else {
            let mut next = ends.clone();
            let mut order = vec![0u32; ends[emitted]];
            for (row, &group) in (0u32..).zip(&self.groups) {
                if (group as usize) < emitted {
                    order[next[group as usize]] = row;
                    next[group as usize] += 1;
                }
            }
            let order = UInt32Array::from(order);
            whole
                .iter()
                .map(|column| Ok(take(column, &order, None)?))
                .collect::<Result<_>>()?
        };
        self.keep_after(emitted, &whole)?;
        Ok((columns, ends))
    }

    fn keep_after(&mut self, emitted: usize, whole: &[ArrayRef]) -> Result<()> {
        self.count -= emitted;
        if self.count == 0 {
            self.parts.iter_mut().for_each(Vec::clear);
            self.groups.clear();
            return Ok(());
        }
        let stays: BooleanArray = self
            .groups
            .iter()
            .map(|&group| Some(group as usize >= emitted))
            .collect();
        for (parts, column) in self.parts.iter_mut().zip(whole) {
            *parts = vec![filter(column, &stays)?];
        }
        let shift = u32::try_from(emitted).unwrap_or(u32::MAX);
        self.groups.retain(|&group| group >= shift);
        self.groups.iter_mut().for_each(|group| *group -= shift);
        Ok(())
    }

    fn remember(&mut self, rows: impl Iterator<Item = usize>, total: usize) -> Result<()> {
        for group in rows {
            let group = u32::try_from(group)
                .map_err(|_| exec_datafusion_err!("more than 4 billion groups"))?;
            self.groups.push(group);
        }
        self.count = self.count.max(total);
        Ok(())
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        for ((parts, kind), value) in self.parts.iter_mut().zip(&self.arguments).zip(values) {
            let value = conform(value, kind)?;
            parts.push(match opt_filter {
                Some(wanted) => filter(&value, wanted)?,
                None => value,
            });
        }
        let wanted = |row: usize| opt_filter.is_none_or(|w| w.is_valid(row) && w.value(row));
        let rows = group_indices.iter().enumerate();
        let rows = rows
            .filter(|&(row, _)| wanted(row))
            .map(|(_, &group)| group);
        self.remember(rows, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (columns, ends) = self.emit(emit_to)?;
        (self.compute)(&columns, &ends)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (columns, ends) = self.emit(emit_to)?;
        let ends: Vec<i32> = ends
            .iter()
            .map(|&end| i32::try_from(end))
            .collect::<Result<_, _>>()
            .map_err(|_| exec_datafusion_err!("more than 2 billion rows in one aggregate"))?;
        let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
        let list = |column: ArrayRef| {
            let item = Arc::new(Field::new_list_field(column.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(item, ends.clone(), column, None)?) as ArrayRef)
        };
        columns.into_iter().map(list).collect()
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        let Some(first) = values.first() else {
            return Ok(());
        };
        let lengths = first.as_list::<i32>().offsets().lengths();
        let rows: Vec<usize> = lengths
            .zip(group_indices)
            .flat_map(|(length, &group)| std::iter::repeat_n(group, length))
            .collect();
        for (parts, lists) in self.parts.iter_mut().zip(values) {
            let lists = lists.as_list::<i32>();
            let (from, to) = (lists.offsets()[0], lists.offsets()[lists.len()]);
            let (from, to) = (from as usize, to as usize);
            parts.push(lists.values().slice(from, to - from));
        }
        self.remember(rows.into_iter(), total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let wanted = |row: usize| opt_filter.is_none_or(|w| w.is_valid(row) && w.value(row));
        let rows = values.first().map_or(0, |column| column.len());
        let ends = OffsetBuffer::from_lengths((0..rows).map(|row| usize::from(wanted(row))));
        let list = |(column, kind): (&ArrayRef, &DataType)| {
            let mut column = conform(column, kind)?;
            if let Some(wanted) = opt_filter {
                column = filter(&column, wanted)?;
            }
            let item = Arc::new(Field::new_list_field(kind.clone(), true));
            Ok(Arc::new(ListArray::try_new(item, ends.clone(), column, None)?) as ArrayRef)
        };
        values.iter().zip(&self.arguments).map(list).collect()
    }

    fn size(&self) -> usize {
        size(self.parts.iter()) + self.groups.capacity() * 4
    }
}
