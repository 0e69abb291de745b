# make test       everything that a change must pass; sets up what it needs beside the Rust toolchain and a C compiler
# make demo       the main job on the sample data, from import to shards, in demo/
# make build      the program, optimised in its hot crates only (`cargo build --release` optimises all of it, and takes longer)
# make test-kill  an import killed at twenty random moments (a quarter of an hour)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fidelake/target
export CARGO_TARGET_DIR
# Snapshots are compared, never written; `INSTA_UPDATE=always make test` accepts what is new.
export INSTA_UPDATE ?= no
export TEST_LOGS := $(CARGO_TARGET_DIR)/test-logs

.PHONY: build demo test format lint test-rust test-doc test-failpoints test-kill clean-counts counts

build:
	cargo build

demo: build
	tools/demo.sh '$(CARGO_TARGET_DIR)/debug/fidelake' demo

test: clean-counts format lint test-failpoints test-rust test-doc counts

clean-counts:
	@rm -rf '$(TEST_LOGS)'

format:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --all-targets --features failpoints -- -D warnings

# Python's readers of the tables are compared in a test of the crate; environments are tested against real servers.
test-rust:
	python=$$(tools/python-env.sh); \
	servers=$$(tools/servers.sh); \
	FIDELAKE_TEST_PYTHON=$$python FIDELAKE_TEST_SERVERS=$$servers tools/run-tests.sh tests --workspace

# The program that aborts where it is told; its chunks and commits are small. It stands in the place of the
# ordinary program, which test-rust builds again afterwards.
test-failpoints:
	tools/run-tests.sh failpoints --features failpoints --test it failpoints:: curate::killed_anywhere

test-doc:
	tools/run-tests.sh doc --doc --package fidelake-core

test-kill:
	cargo test --test it kills:: -- --ignored --nocapture

counts:
	@cat '$(TEST_LOGS)'/*.count
