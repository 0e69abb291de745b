//! Rows of profiles that a later generation replaced: `compact` removes them.

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::prelude::SessionContext;
use deltalake::DeltaTable;
use deltalake::kernel::transaction::CommitProperties;

use super::error::{LakeError, LakeResult, without_backtrace};

/// The tables whose rows carry a generation.
pub(super) const GENERATIONS: [&str; 3] = ["call_gaps", "profiles", "evidence"];

/// Up to this share of superseded profiles nothing is removed.
const TOLERATED: f64 = 0.05;

/// So many trajectories stand in one condition.
const AT_ONCE: usize = 5000;

/// What was replaced: a whole generation, or some trajectories of one.
pub(super) struct Superseded {
    conditions: Vec<Expr>,
}

impl Superseded {
    /// Looks at the profiles of a lake version.
    pub(super) async fn find(profiles: &DeltaTable) -> LakeResult<Self> {
        let fail = |message: String| LakeError::Delta {
            table: "profiles".to_owned(),
            message: without_backtrace(&message),
        };
        let context = SessionContext::new();
        let rows = async {
            profiles.update_datafusion_session(&context.state())?;
            context.register_table("profiles", profiles.table_provider().await?)?;
            let sql = "SELECT p.generation, p.trajectory_key, n.newest > p.generation AS replaced
                       FROM profiles AS p
                       JOIN (SELECT environment, trajectory_id, max(generation) AS newest FROM profiles
                             GROUP BY environment, trajectory_id) AS n
                         ON n.environment = p.environment AND n.trajectory_id = p.trajectory_id
                       ORDER BY p.generation, p.trajectory_key";
            let rows = context.sql(sql).await?.collect().await?;
            Ok::<_, deltalake::DeltaTableError>(rows)
        };
        let rows = rows.await.map_err(|e| fail(e.to_string()))?;
        // (generation, replaced trajectories, those that stand)
        let mut generations: Vec<(i64, Vec<i64>, usize)> = Vec::new();
        let (mut all, mut gone) = (0usize, 0usize);
        for batch in &rows {
            let [generation, key] = [0, 1].map(|at| batch.column(at).as_primitive::<Int64Type>());
            let replaced = batch.column(2).as_boolean();
            for row in 0..batch.num_rows() {
                let at = generation.value(row);
                if generations.last().is_none_or(|(known, _, _)| *known != at) {
                    generations.push((at, Vec::new(), 0));
                }
                let Some((_, keys, standing)) = generations.last_mut() else {
                    continue;
                };
                all += 1;
                if replaced.value(row) {
                    gone += 1;
                    keys.push(key.value(row));
                } else {
                    *standing += 1;
                }
            }
        }
        let mut conditions = Vec::new();
        if gone as f64 > TOLERATED * all as f64 {
            for (at, keys, standing) in generations {
                let of_generation = col("generation").eq(lit(at));
                if standing == 0 {
                    conditions.push(of_generation);
                    continue;
                }
                for keys in keys.chunks(AT_ONCE) {
                    let list = keys.iter().map(|&key| lit(key)).collect();
                    let among = col("trajectory_key").in_list(list, false);
                    conditions.push(of_generation.clone().and(among));
                }
            }
        }
        Ok(Self { conditions })
    }

    /// Removes the rows from one of the tables; how many. Doing it again removes
    /// nothing more.
    pub(super) async fn remove_from(
        &self,
        name: &str,
        mut table: DeltaTable,
        commit: &CommitProperties,
    ) -> LakeResult<(DeltaTable, u64)> {
        let mut removed = 0;
        for condition in &self.conditions {
            let delete = table
                .delete()
                .with_predicate(condition.clone())
                .with_commit_properties(commit.clone());
            let (next, metrics) = delete.await.map_err(|e| LakeError::delta(name, &e))?;
            table = next;
            removed += metrics.num_deleted_rows.unwrap_or_default() as u64;
        }
        Ok((table, removed))
    }
}
