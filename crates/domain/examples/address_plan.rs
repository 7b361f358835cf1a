//! How the time of an address plan grows: `cargo run --release -p domain --example address_plan`.
//!
//! Everything is measured in one run and printed as ratios, since times of different machines or days say little.
//! Not a test: `network/assign.rs` counts looks at addresses instead, which is the same on every machine.
#![expect(
    clippy::print_stdout,
    reason = "printing the ratios is what this program is for"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use domain::given::Given;
use domain::network::{Config, Held, plan};

const FEW: u32 = 6_500;
const MANY: u32 = 65_000;
const RUNS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let (few, many) = (config(FEW), config(MANY));
    let nobody = Held::new();
    let held = addresses(&many, &nobody)?;

    let sort = median(|| drop(sorted_names(MANY)));
    let plan_few = median(|| drop(plan(&few, &nobody)));
    let plan_many = median(|| drop(plan(&many, &nobody)));
    let plan_held = median(|| drop(plan(&many, &held)));

    println!(
        "claims: {FEW} and {MANY}; a square would grow by 100, a sort by a little more than 10"
    );
    println!(
        "new machines, many over few:        {:6.1}",
        ratio(plan_many, plan_few)
    );
    println!(
        "new machines, over sorting names:   {:6.1}",
        ratio(plan_many, sort)
    );
    println!(
        "held addresses, over sorting names: {:6.1}",
        ratio(plan_held, sort)
    );
    println!("new machines, many: {plan_many:.1?}");
    Ok(())
}

fn name(number: u32) -> String {
    // Not in ascending order: a multiplication by an odd number visits every remainder once.
    format!("node-{:08x}", number.wrapping_mul(0x9e37_79b1))
}

fn sorted_names(count: u32) -> Vec<String> {
    let mut names: Vec<String> = (0..count).map(name).collect();
    names.sort();
    names
}

fn config(machines: u32) -> Config {
    let text = |text: &str| Given::Known(text.to_owned());
    let claims: BTreeMap<_, _> = (0..machines)
        .map(|number| (name(number), Given::Absent))
        .collect();
    Config {
        name: text("lan"),
        kind: Given::Absent,
        cidr: text("10.0.0.0/8"),
        gateway: text("10.0.0.1"),
        dns: Given::Known(vec![text("10.0.0.1")]),
        static_range: text("10.0.0.0-10.255.255.255"),
        claims: Given::Known(claims),
    }
}

fn addresses(config: &Config, held: &Held) -> Result<Held, Box<dyn Error>> {
    let planned = plan(config, held).map_err(|issues| format!("{issues:?}"))?;
    let addresses = planned.addresses.ok_or("the machines are known")?;
    let known = |(machine, address): (String, Option<_>)| Some((machine, address?));
    Ok(addresses.into_iter().filter_map(known).collect())
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

fn ratio(time: Duration, other: Duration) -> f64 {
    time.as_secs_f64() / other.as_secs_f64()
}
