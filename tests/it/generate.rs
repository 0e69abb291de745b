//! Runs made by rule, for tests that need many of them. The same seed gives the same bytes.

use std::fmt::Write as _;

/// A small generator of numbers (xorshift), so that tests need no other source of chance.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// One run in the native form, with everything that has a table of its own.
pub(crate) fn run(trajectory: u64, arm: &str, chance: &mut Chance) -> String {
    let environment = ["shop", "files", "mail"][(trajectory % 3) as usize];
    // A catalog serves twenty trajectories, so that new ones keep coming.
    let edition = trajectory / 20;
    let mut line = format!(
        r#"{{"fidelake":1,"trajectory_id":"t{trajectory}","environment":"{environment}","arm":"{arm}","task_id":"k{}","task":"do it","#,
        trajectory % 7
    );
    let _ = write!(
        line,
        r#""catalog":[{{"name":"find","description":"edition {edition}","parameters":{{"type":"object"}}}}],"messages":[{{"role":"user","content":"number {trajectory}"}}],"calls":["#
    );
    for turn in 0..1 + chance.below(4) {
        if turn > 0 {
            line.push(',');
        }
        let filler = "x".repeat(chance.below(200) as usize);
        let _ = write!(
            line,
            r#"{{"turn":{turn},"index":0,"id":"c{turn}","name":"find","arguments":{{"q":{}}},"result":{{"content":"{{\"found\":{},\"text\":\"{filler}\"}}","is_error":false,"latency_ms":{}.5}}}}"#,
            chance.below(1000),
            chance.below(10),
            chance.below(100)
        );
    }
    let _ = write!(
        line,
        r#"],"verdicts":[{{"judge":"rule","reward":{},"success":true}}]}}"#,
        chance.below(2)
    );
    line
}

/// Lines of `trajectories` pairs of runs; some are broken, some come twice.
pub(crate) fn file(first: u64, trajectories: u64, seed: u64) -> String {
    let mut chance = Chance::new(seed);
    let mut text = String::new();
    for trajectory in first..first + trajectories {
        let sim = run(trajectory, "sim", &mut chance);
        let real = run(trajectory, "real", &mut chance);
        text.push_str(&sim);
        text.push('\n');
        text.push_str(&real);
        text.push('\n');
        match trajectory % 10 {
            3 => text.push_str("{\"fidelake\":1,\"trajectory_id\":\n"),
            5 => {
                text.push_str(&sim);
                text.push('\n');
            }
            _ => {}
        }
    }
    text
}
