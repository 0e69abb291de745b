//! How many draws each region needs, and what a budget does for all of them.

use super::cell::{Estimate, Estimates, FEW};

/// Draws that the spread of all regions is worth in that of one.
const PRIOR_DRAWS: f64 = 4.0;

/// Where more rounds follow, a round buys as if the half-width asked for were wider by this: about half of
/// what is expected is too much, and is not given back.
pub const AIM: f64 = 1.3;

/// What is expected of a region if more is bought there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Standard deviation of what the surrogate leaves (posterior mean of an inverse
    /// chi-squared, with the pooled spread for prior).
    pub spread: f64,
    /// Standard deviation of the gaps themselves.
    pub raw_spread: f64,
    /// Share of units with a gap.
    pub rate: f64,
    /// Units that can still be bought.
    pub left: usize,
    /// Units of the region.
    pub pool: usize,
    /// Draws so far. A round draws as many again at least: its weight is fixed, and fewer would
    /// make the estimate worse than it was.
    pub drawn: usize,
    /// Real calls per draw.
    pub price: f64,
    /// How much staler evidence widens what is known, at least 1.
    pub staleness: f64,
}

/// The outlook of every region from what is known. `plain` are the estimates without a
/// surrogate; `prices` real calls per unit; `staleness` at least 1, of the same length.
#[must_use]
pub fn outlooks(
    found: &Estimates,
    plain: &Estimates,
    prices: &[f64],
    staleness: &[f64],
) -> Vec<Outlook> {
    let usual = found.overall.spread.unwrap_or(0.25);
    let usual_raw = plain.overall.spread.unwrap_or(0.25);
    let drawn = found.overall.drawn as f64;
    let rate = (found.overall.gaps as f64 + 1.0) / (drawn + 4.0);
    let shrunk = |own: Option<f64>, n: f64, usual: f64| {
        let own = own.map_or(0.0, |s| s * s * (n - 1.0).max(0.0));
        let freedom = if n >= 2.0 { n - 1.0 } else { 0.0 };
        ((own + PRIOR_DRAWS * usual * usual) / (freedom + PRIOR_DRAWS)).sqrt()
    };
    let of = |(at, region): (usize, &Estimate)| {
        let n = region.drawn as f64;
        Outlook {
            spread: shrunk(region.spread, n, usual),
            raw_spread: shrunk(plain.regions[at].spread, n, usual_raw),
            rate: (region.gaps as f64 + 2.0 * rate) / (n + 2.0),
            left: region.pool - region.known,
            pool: region.pool,
            drawn: region.drawn,
            price: prices.get(at).copied().unwrap_or(1.0).max(1e-9),
            staleness: staleness.get(at).copied().unwrap_or(1.0).max(1.0),
        }
    };
    found.regions.iter().enumerate().map(of).collect()
}

/// The half-width to expect after `n` draws in all, at 95 %: of a normal interval where ten
/// gaps or more will be seen, else of a betting sequence (its two leading terms).
#[must_use]
pub fn half_width(region: &Outlook, n: usize) -> f64 {
    const Z: f64 = 1.96;
    /// ln(2 / .05)
    const PRICE: f64 = 3.689;
    if n == 0 {
        return 0.5;
    }
    let draws = n as f64;
    let open = (1.0 - draws / region.pool.max(n) as f64).max(0.0);
    let width = if draws * region.rate >= FEW as f64 {
        // Student's t beside the normal quantile.
        let small = 1.0 + 1.2 / (draws - 1.0).max(1.0);
        Z * small * region.spread * (open / draws).sqrt()
    } else {
        let variance = (2.0 * PRICE * open * region.raw_spread.powi(2) / draws).sqrt();
        variance + 0.55 * PRICE * open.sqrt() / draws
    };
    (width * region.staleness.sqrt()).min(0.5)
}

/// What draws are wanted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The same half-width in every region.
    #[default]
    Regions,
    /// The whole: regions by their share of the agent's calls times what is not known of
    /// them (Neyman 1934).
    Overall,
}

/// What one round may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Real calls of this round.
    pub budget: f64,
    /// Share of the budget that goes to all regions by their size, whatever is known.
    pub floor: f64,
    /// Half-width after which a region gets no more than its floor.
    pub target: Option<f64>,
    /// What the rest is for.
    pub objective: Objective,
}

/// New draws for every region, within the budget: never more, whatever the rounding.
/// Every region that has units left gets one, the stalest and least known first, if the
/// budget reaches for it.
#[must_use]
pub fn allocate(regions: &[Outlook], request: &Request) -> Vec<usize> {
    let floor = floors(regions, request);
    let draws = |level: f64| -> Vec<usize> {
        let need = |(region, floor): (&Outlook, &usize)| {
            let wanted = match request.objective {
                Objective::Regions => wanted(region, level.max(request.target.unwrap_or(0.0))),
                Objective::Overall => {
                    let target = request.target.unwrap_or(0.0);
                    let size = region.pool as f64 * region.spread * region.staleness.sqrt();
                    let enough = wanted(region, target);
                    ((size / region.price.sqrt() / level) as usize)
                        .saturating_sub(region.drawn)
                        .min(if target > 0.0 { enough } else { usize::MAX })
                }
            };
            wanted.max(*floor).min(region.left)
        };
        regions.iter().zip(&floor).map(need).collect()
    };
    let cost = |draws: &[usize]| -> f64 {
        draws
            .iter()
            .zip(regions)
            .map(|(n, r)| *n as f64 * r.price)
            .sum()
    };
    // The lowest level that the budget reaches for.
    let (mut low, mut high): (f64, f64) = (1e-6, 1e6);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if cost(&draws(middle)) > request.budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut found = draws(high);
    // Floors alone may be too dear.
    let mut order: Vec<usize> = (0..regions.len()).collect();
    order.sort_by(|a, b| {
        let wide = |at: usize| half_width(&regions[at], regions[at].drawn);
        wide(*a).total_cmp(&wide(*b)).then(b.cmp(a))
    });
    let mut spent = cost(&found);
    // Expected widths fall in a step where an interval becomes normal: levels between leave money.
    let target = request.target.unwrap_or(0.0);
    let even = request.objective == Objective::Regions;
    loop {
        let open = (0..regions.len()).filter(|&at| {
            found[at] < regions[at].left && spent + regions[at].price <= request.budget
        });
        let wide = open.map(|at| (half_width(&regions[at], regions[at].drawn + found[at]), at));
        let widest = wide.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        match widest {
            Some((width, at)) if even && width > target => {
                found[at] += 1;
                spent += regions[at].price;
            }
            _ => break,
        }
    }
    while spent > request.budget {
        let Some(&at) = order
            .iter()
            .find(|at| found[**at] > 1)
            .or(order.iter().find(|at| found[**at] > 0))
        else {
            break;
        };
        found[at] -= 1;
        spent -= regions[at].price;
    }
    // What was too dear may have taken the place of what was not: the widest of those that can be paid.
    for &at in order.iter().rev() {
        if found[at] == 0 && regions[at].left > 0 && spent + regions[at].price <= request.budget {
            found[at] = 1;
            spent += regions[at].price;
        }
    }
    found
}

fn floors(regions: &[Outlook], request: &Request) -> Vec<usize> {
    let pool: f64 = regions.iter().map(|r| r.pool as f64 * r.price).sum();
    let of = |region: &Outlook| {
        let even = request.floor * request.budget * region.pool as f64 / pool.max(1e-9);
        // Two draws show a variance, and keep every round's estimate alive.
        (even as usize).max(region.drawn).max(2).min(region.left)
    };
    regions.iter().map(of).collect()
}

/// New draws until the half-width is expected to be at most `level`.
pub(super) fn wanted(region: &Outlook, level: f64) -> usize {
    let most = region.drawn + region.left;
    let (mut low, mut high) = (region.drawn, most);
    while low < high {
        let middle = low.midpoint(high);
        if half_width(region, middle) <= level {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low - region.drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(spread: f64, rate: f64, pool: usize) -> Outlook {
        Outlook {
            spread,
            raw_spread: spread,
            rate,
            left: pool,
            pool,
            drawn: 0,
            price: 1.0,
            staleness: 1.0,
        }
    }

    #[test]
    fn a_need_by_hand() {
        // 1.96 x .2 / sqrt(n) = .05 at n = 61.5; t makes it 64.
        let n = wanted(&region(0.2, 0.5, 1_000_000), 0.05);
        assert!((62..=65).contains(&n), "{n}");
        // The larger spread gets more, and staleness counts as spread.
        let mut three = [
            region(0.3, 0.5, 5000),
            region(0.1, 0.5, 5000),
            region(0.1, 0.5, 5000),
        ];
        three[2].staleness = 4.0;
        let request = Request {
            budget: 300.0,
            floor: 0.1,
            target: None,
            objective: Objective::Regions,
        };
        let found = allocate(&three, &request);
        assert!(
            found[0] > 2 * found[1] && found[2] > 2 * found[1],
            "{found:?}"
        );
        let overall = Request {
            objective: Objective::Overall,
            ..request
        };
        let found = allocate(&three, &overall);
        assert!(
            found[0] > 2 * found[1] && found[0] < 4 * found[1],
            "{found:?}"
        );
    }

    #[test]
    fn a_budget_buys_what_it_can_pay() {
        let dear = Outlook {
            price: 6.0,
            ..region(0.3, 0.5, 100)
        };
        let request = Request {
            budget: 1.0,
            floor: 0.1,
            target: None,
            objective: Objective::Regions,
        };
        let regions = [dear, region(0.1, 0.5, 100), dear];
        assert_eq!(allocate(&regions, &request), [0, 1, 0]);
    }

    proptest! {
        #[test]
        fn the_budget_is_never_exceeded(
            spreads in prop::collection::vec((0.0f64..0.5, 0.0f64..1.0, 0usize..300, 1.0f64..6.0), 1..12),
            budget in 0.0f64..600.0,
            floor in 0.0f64..1.0,
            overall: bool,
            target in prop::option::of(0.01f64..0.2),
        ) {
            let regions: Vec<Outlook> = spreads
                .iter()
                .map(|&(s, r, n, price)| Outlook { price, ..region(s, r, n) })
                .collect();
            let objective = if overall { Objective::Overall } else { Objective::Regions };
            let found = allocate(&regions, &Request { budget, floor, target, objective });
            let cost: f64 = found.iter().zip(&regions).map(|(n, r)| *n as f64 * r.price).sum();
            prop_assert!(cost <= budget + 1e-9, "{cost} {budget}");
            prop_assert!(found.iter().zip(&regions).all(|(n, r)| *n <= r.left));
        }
    }
}
