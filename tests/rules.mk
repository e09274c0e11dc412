# Tests. 'make check' needs nothing but the libraries; the rest runs on a throwaway Ceph.

UNIT_NAMES := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
UNIT_TESTS := $(UNIT_NAMES:%=$(BUILD)/tests/unit/%)
# main() of every test program
TEST_MAIN := $(BUILD)/tests/test.o
FAKE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fakes/*.c))
UNIT_FIXTURE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/unit/fixtures/*.c))
# of which a unit test links what it uses
UNIT_FIXTURES := $(BUILD)/tests/libfixtures.a

INTEGRATION_NAMES := $(patsubst tests/integration/%.c,%,$(wildcard tests/integration/test_*.c))
INTEGRATION_TESTS := $(INTEGRATION_NAMES:%=$(BUILD)/tests/integration/%)
HARNESS_OBJECTS := $(addprefix $(BUILD)/tests/integration/,harness.o liveness_process.o place.o)
FIXTURE_TESTS := $(filter $(BUILD)/tests/integration/test_ceph_csi_% %_fixtures %_background %_image_users,$(INTEGRATION_TESTS))

$(BUILD)/tests/unit/test_proto.o: CPPFLAGS += -DCSI_DESC_PATH='"$(PROTO_DESCRIPTOR_SET)"'
$(BUILD)/tests/unit/test_proto: $(PROTO_DESCRIPTOR_OBJECT) | $(PROTO_DESCRIPTOR_SET)

$(BUILD)/tests/unit/test_options: $(BUILD)/programs/cephcsi/options.o
$(BUILD)/tests/unit/test_explain_print: $(addprefix $(BUILD)/programs/cephzone/,simulate_print.o output.o)
CHECK_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard programs/cephzone/check/*.c)) \
	$(addprefix $(BUILD)/programs/,cephzone/live_objects.o cephzone/object_source.o cephzone/output.o cephcsi/options.o)
$(addprefix $(BUILD)/tests/unit/,test_check test_check_caps test_check_world): $(CHECK_OBJECTS)
$(BUILD)/tests/unit/test_live_objects: $(addprefix $(BUILD)/programs/cephzone/,live_objects.o object_source.o)

$(BUILD)/tests/unit/test_commands $(BUILD)/tests/unit/test_live_cluster: $(filter-out %/cephzone.o,$(CEPHZONE_OBJECTS))

# Not in the archive, where it would answer every program's time().
STANDING_CLOCK := $(BUILD)/tests/unit/fixtures/standing_clock.o
$(addprefix $(BUILD)/tests/unit/,test_condition test_config test_config_reload): $(STANDING_CLOCK)

$(UNIT_FIXTURES): $(filter-out $(STANDING_CLOCK),$(UNIT_FIXTURE_OBJECTS)) $(FAKE_OBJECTS)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(UNIT_TESTS): $(BUILD)/%: $(BUILD)/%.o $(TEST_MAIN) $(UNIT_FIXTURES) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(UNIT_FIXTURES) $(LIBRARY) $(LIBS) -lcmocka

$(FIXTURE_TESTS): $(BUILD)/tests/integration/fixtures.o $(BUILD)/tests/integration/calls.o
$(BUILD)/tests/integration/test_interrupted $(BUILD)/tests/integration/test_settle: \
	$(addprefix $(BUILD)/tests/integration/,fixtures.o calls.o)
$(BUILD)/tests/integration/test_cluster_ids: \
	$(addprefix $(BUILD)/tests/integration/,fixtures.o calls.o cephfs.o)
$(addprefix $(BUILD)/tests/integration/,test_ceph_connections test_ceph_images test_ceph_ops): \
	$(BUILD)/tests/integration/ceph_client.o
$(BUILD)/tests/integration/test_topology: $(BUILD)/tests/integration/calls.o
$(BUILD)/tests/integration/test_basics: $(addprefix $(BUILD)/tests/integration/,calls.o cephfs.o)

ZONE_TESTS := $(filter %_basics %_cluster_ids %_topology %_cephfs_cuts %_cephfs_tools,$(INTEGRATION_TESTS))
$(ZONE_TESTS): $(BUILD)/tests/integration/zones.o
$(BUILD)/tests/integration/test_kube_driver: $(FAKE_OBJECTS)
# Ceph's libraries shall find its connect()
$(BUILD)/tests/integration/test_kube_driver: LDFLAGS += -Wl,--export-dynamic-symbol=connect
$(BUILD)/tests/integration/test_command_lines: $(FAKE_OBJECTS) $(BUILD)/tests/unit/fixtures/command_lines.o
$(BUILD)/tests/integration/test_capacity: $(FAKE_OBJECTS) $(BUILD)/tests/unit/fixtures/live_cluster.o
$(BUILD)/tests/integration/test_generator: $(FAKE_OBJECTS) $(BUILD)/tests/integration/calls.o

NODE_TESTS := $(filter-out %_info,$(filter $(BUILD)/tests/integration/test_node%,$(INTEGRATION_TESTS)))
NODE_TESTS += $(filter $(BUILD)/tests/integration/test_cephfs_node%,$(INTEGRATION_TESTS))
$(NODE_TESTS): $(addprefix $(BUILD)/tests/integration/,node_fixture.o node_leftovers.o cephfs.o)
$(filter %_node,$(NODE_TESTS)): $(BUILD)/tests/integration/node_life.o
$(filter %_hostile,$(NODE_TESTS)): $(BUILD)/tests/integration/node_hostile.o

CEPHFS_TESTS := $(filter $(BUILD)/tests/integration/test_cephfs%,$(INTEGRATION_TESTS))
$(CEPHFS_TESTS): $(BUILD)/tests/integration/cephfs.o $(BUILD)/tests/integration/calls.o

RACE_TESTS := $(filter %_races,$(INTEGRATION_TESTS))
$(RACE_TESTS): $(BUILD)/tests/integration/races.o

STORM_TESTS := $(filter %_storm,$(INTEGRATION_TESTS))
$(STORM_TESTS): $(addprefix $(BUILD)/tests/integration/,storm.o config_churn.o zones.o calls.o)

CUT_TESTS := $(filter %_cuts,$(INTEGRATION_TESTS))
$(CUT_TESTS): $(BUILD)/tests/integration/cuts.o
STEP_TESTS := $(filter %/test_cuts %/test_cephfs_cuts %_kills,$(INTEGRATION_TESTS))
$(STEP_TESTS): $(addprefix $(BUILD)/tests/integration/,steps.o calls.o cephfs.o)
KILL_TESTS := $(filter %_kills,$(INTEGRATION_TESTS))
$(KILL_TESTS): $(addprefix $(BUILD)/tests/integration/,cuts.o kills.o strikes.o)
$(filter %_random_kills,$(KILL_TESTS)): $(BUILD)/tests/integration/random_kills.o
$(filter $(NODE_TESTS),$(CUT_TESTS)): $(BUILD)/tests/integration/node_cuts.o

$(INTEGRATION_TESTS): $(BUILD)/%: $(BUILD)/%.o $(TEST_MAIN) $(HARNESS_OBJECTS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS) -lcmocka

# --- fuzzing ------------------------------------------------------------------------------------
# Each tests/fuzz/fuzz_NAME.c is a target. Linked with replay.c it is a unit test that runs over
# tests/data/fuzz/NAME; linked with libFuzzer it looks for more.

FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAY_TESTS := $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/fuzz_%)
FUZZERS := $(FUZZ_NAMES:%=$(BUILD)/fuzzers/%)
FUZZ_SECONDS ?= 60
FUZZ := BUILD=build/fuzz CC=clang OPTIMIZE='-O1 -fno-omit-frame-pointer' \
	SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined'

$(REPLAY_TESTS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/fuzz/bytes.o $(BUILD)/tests/fuzz/replay.o $(TEST_MAIN) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS) -lcmocka

$(FUZZERS): $(BUILD)/fuzzers/%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/bytes.o $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

$(foreach target,binding kube_objects,$(BUILD)/tests/fuzz/fuzz_$(target) \
	$(BUILD)/fuzzers/$(target)): $(patsubst %,$(BUILD)/tests/fakes/%.o, \
	binding_reference cluster_script random_cluster)

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ_SECONDS (60)
	@$(MAKE) --no-print-directory $(FUZZ) fuzz-build
	@tests/fuzz/run build/fuzz $(FUZZ_SECONDS) $(FUZZ_NAMES)

.PHONY: fuzz-build
fuzz-build: $(FUZZERS)

# the driver that can be made to kill itself at a Ceph call
CUT_DRIVER := $(BUILD)/tests/cut/cephcsi-cut
CUT_OBJECTS := $(BUILD)/tests/cut/cephcsi_cut.o $(BUILD)/tests/cut/cut_order.o $(filter-out %/cephcsi.o,$(CEPHCSI_OBJECTS))
$(CUT_DRIVER): $(CUT_OBJECTS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

# preloaded, kills a process at a request to Ceph
CUT_LIBRARY := $(BUILD)/tests/cut/libcut.so
CUT_LIBRARY_SOURCES := tests/cut/cut_messages.c tests/cut/cut_order.c
$(CUT_LIBRARY): $(CUT_LIBRARY_SOURCES) tests/cut/cut_order.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu17 -g -O2 $(WARNINGS) -fPIC -shared -o $@ $(CUT_LIBRARY_SOURCES)

# Most of the time tests wait, for Ceph or for a clock, so that several run side by side.
RUN_UNIT = @BUILD=$(BUILD) JOBS=4 tests/run $@
RUN_INTEGRATION = @BUILD=$(BUILD) JOBS=3 tests/run $@

.PHONY: check
check: $(UNIT_TESTS) $(REPLAY_TESTS) ## run the unit tests
	$(RUN_UNIT) $(UNIT_TESTS) $(REPLAY_TESTS)

.PHONY: check-tool
check-tool: $(PROGRAMS) ## the tool in bash, zsh and fish, and how it follows what changes
	@BUILD=$(BUILD) tests/run $@ tests/tool/run

INTEGRATION_NEEDS := $(PROGRAMS) $(CUT_DRIVER) $(CUT_LIBRARY) $(INTEGRATION_TESTS)
# The longest come first, so that the others fill what is left of the time.
LONG_TESTS := $(filter %_cuts,$(INTEGRATION_TESTS)) $(filter %_kills %_failures %_many,$(INTEGRATION_TESTS))
INTEGRATION_ORDER := $(LONG_TESTS) $(filter-out $(LONG_TESTS),$(INTEGRATION_TESTS))

.PHONY: integration
integration: $(INTEGRATION_NEEDS) ## run the real driver against a throwaway Ceph
	$(RUN_INTEGRATION) $(INTEGRATION_ORDER)

# The life of volumes and snapshots, and fsck, for releases of Ceph that are not tested entirely.
BASIC_TESTS := $(filter %/test_basics %/test_volumes %/test_snapshots %/test_cephfs %/test_fsck %/test_capacity %/test_background,\
	$(INTEGRATION_TESTS))

.PHONY: integration-basics
integration-basics: $(PROGRAMS) $(BASIC_TESTS) ## those of RBD and CephFS that every release of Ceph must pass
	$(RUN_INTEGRATION) $(BASIC_TESTS)

.PHONY: basics
basics: $(PROGRAMS) $(BUILD)/tests/integration/test_basics ## the life of a volume and a snapshot of RBD and CephFS, nothing else
	@BUILD=$(BUILD) tests/run $@ $(BUILD)/tests/integration/test_basics

# What the sanitizers leave out. A driver that is killed has no end at which leaks could be counted;
# what it runs, the others run. Nor do many volumes, or waiting for a dead OSD, run other code than few.
UNSANITIZED := %_cuts %_kills %_many %/test_failures

.PHONY: integration-rest
integration-rest: $(INTEGRATION_NEEDS) ## those that 'make asan' leaves out
	$(RUN_INTEGRATION) $(filter $(UNSANITIZED),$(INTEGRATION_ORDER))

.PHONY: kills
kills: $(INTEGRATION_NEEDS) ## driver and manager killed at every request of every operation
	@BUILD=$(BUILD) JOBS=2 KILL_STRIDE=1 PROGRAM_SECONDS=36000 tests/run $@ \
		$(filter-out %_random_kills,$(KILL_TESTS))

KILLS ?= 300

.PHONY: random-kills
random-kills: $(INTEGRATION_NEEDS) ## the driver killed at random, KILLS (300) times in each operation; KILL_SEED repeats a run
	@BUILD=$(BUILD) JOBS=2 KILLS=$(KILLS) KILL_SEED=$(KILL_SEED) PROGRAM_SECONDS=36000 tests/run $@ \
		$(filter %_random_kills,$(KILL_TESTS))

.PHONY: sanity
sanity: $(PROGRAMS) ## run csi-sanity against the driver on a throwaway Ceph
	@BUILD=$(BUILD) JOBS=2 tests/run sanity tests/sanity/run tests/sanity/cephfs

ASAN := BUILD=build/asan OPTIMIZE='-O1 -fno-omit-frame-pointer' \
	SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
TSAN := BUILD=build/tsan OPTIMIZE=-O1 SANITIZE=-fsanitize=thread

# all that the parts of 'make test' run, so that these need not build it beside each other
.PHONY: tests-build
tests-build: $(INTEGRATION_NEEDS) $(UNIT_TESTS) $(REPLAY_TESTS)

.PHONY: asan
asan: ## unit and integration tests under ASan, UBSan and LSan
	@$(MAKE) --no-print-directory $(ASAN) tests-build
	@$(MAKE) --no-print-directory $(ASAN) asan-run

.PHONY: asan-run asan-integration asan-unit
asan-run: asan-integration asan-unit

asan-integration:
	$(RUN_INTEGRATION) $(filter-out $(UNSANITIZED),$(INTEGRATION_ORDER))

asan-unit:
	$(RUN_UNIT) $(UNIT_TESTS) $(REPLAY_TESTS)

# those with many callers; what a single one does, the unit tests do as well
TSAN_TESTS := $(STORM_TESTS) $(RACE_TESTS)
TSAN_SUPPRESSIONS := $(BUILD)/tsan-suppressions.txt

.PHONY: tsan
tsan: ## unit tests, races and the storm of calls under ThreadSanitizer
	@$(MAKE) --no-print-directory $(TSAN) tsan-build
	@$(MAKE) --no-print-directory $(TSAN) tsan-run

.PHONY: tsan-build
tsan-build: $(PROGRAMS) $(TSAN_TESTS) $(UNIT_TESTS) $(REPLAY_TESTS) $(TSAN_SUPPRESSIONS)

$(TSAN_SUPPRESSIONS): tests/tsan/suppressions $(PROGRAMS)
	$(Q)tests/tsan/suppressions $(PROGRAMS) >$@

# A program that had a report ends with status 66, a driver's report is found by the harness.
.PHONY: tsan-run tsan-integration tsan-unit
tsan-run: tsan-integration tsan-unit

tsan-integration tsan-unit: export TSAN_OPTIONS = suppressions=$(abspath $(TSAN_SUPPRESSIONS))

tsan-integration:
	$(RUN_INTEGRATION) $(TSAN_TESTS)

tsan-unit:
	$(RUN_UNIT) $(UNIT_TESTS) $(REPLAY_TESTS)

# counted atomically, because the driver has many threads
COVERAGE := BUILD=build/coverage OPTIMIZE=-O0 SANITIZE='--coverage -fprofile-update=atomic'

.PHONY: coverage
coverage: ## lines and branches of each folder that unit and integration tests go through
	@tests/deps
	@$(MAKE) --no-print-directory $(COVERAGE) tests-build
	@find build/coverage -name '*.gcda' -delete
	@$(MAKE) --no-print-directory $(COVERAGE) check integration
	@tests/coverage/report build/coverage

# --- mutation -----------------------------------------------------------------------------------
# Changes one place of the decisions at a time; built as for 'make asan', so that leaks and overruns die.

MUTANTS ?= 500
SEED ?= 1
SLICE ?= 1/1
MUTATION_TESTS := $(sort $(filter test_%,$(shell cat tests/mutation/subjects.txt)))

.PHONY: mutation
mutation: ## which changes of the code do the unit tests notice; MUTANTS (500), SEED (1), SLICE (1/1)
	@$(MAKE) --no-print-directory $(ASAN) mutation-build
	@$(MAKE) --no-print-directory $(ASAN) MUTANTS=$(MUTANTS) SEED=$(SEED) SLICE=$(SLICE) mutation-run

.PHONY: mutation-short
mutation-short: ## the same with few changes, for CI
	@$(MAKE) --no-print-directory MUTANTS=40 SEED=2 mutation

.PHONY: mutation-build
mutation-build: $(MUTATION_TESTS:%=$(BUILD)/tests/unit/%)

.PHONY: mutation-run
mutation-run: export COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS)
mutation-run: export LINK = $(CC) $(LDFLAGS)
mutation-run: export OBJECTS = $(TEST_MAIN)
mutation-run: export LIBRARIES = $(UNIT_FIXTURES) $(LIBRARY) $(LIBS) -lcmocka
mutation-run: export TESTS = $(BUILD)/tests/unit
mutation-run: export WORK = build/mutation
mutation-run:
	@tests/mutation/mutate.py --mutants $(MUTANTS) --seed $(SEED) --slice $(SLICE) $(if $(ONLY),--only $(ONLY))

.PHONY: bench-idle
bench-idle: $(PROGRAMS) ## memory, threads and size of an idle driver
	@CEPHCSI=$(BUILD)/cephcsi CEPHZONE=$(BUILD)/cephzone tests/bench/idle

.PHONY: demo
demo: ## create and delete real volumes on a throwaway Ceph
	@tests/deps
	@$(MAKE) --no-print-directory -j2 all >/dev/null
	@CEPHCSI=$(BUILD)/cephcsi CEPHZONE=$(BUILD)/cephzone tests/demo/run

.PHONY: test
test: ## everything: guards, unit, integration, csi-sanity, sanitizers, VM, control plane
	@tests/deps
	@tests/all

# --- guards -------------------------------------------------------------------------------------

C_FILES := $(shell git ls-files -co --exclude-standard '*.c' '*.h' 2>/dev/null)
LINT_SOURCES := $(filter %.c,$(C_FILES))

.PHONY: format
format: ## format all C files
	clang-format -i $(C_FILES)

.PHONY: lint
lint: lint-format lint-layers lint-on-disk lint-tests lint-parameters lint-unused lint-shell lint-docs lint-cppcheck lint-tidy lint-clang ## all guards

.PHONY: lint-format
lint-format:
	$(Q)clang-format --dry-run -Werror $(C_FILES)

.PHONY: lint-layers
lint-layers:
	tests/lint/layers

.PHONY: lint-on-disk
lint-on-disk: ## what is written into Ceph is named in common/ceph/on_disk.h only
	tests/lint/on-disk

.PHONY: lint-tests
lint-tests: ## unit tests are named after what they test
	tests/lint/tests

.PHONY: lint-unused
lint-unused: $(PROGRAMS) ## the product calls every function that it exports
	tests/lint/unused $(BUILD)

.PHONY: lint-parameters
lint-parameters: ## names of class parameters are in their table alone
	tests/lint/parameters

.PHONY: lint-docs
lint-docs: $(PROGRAMS) ## what the pages say is what the sources have
	tests/lint/conformance
	tests/lint/docs $(BUILD)/cephcsi $(BUILD)/cephzone

.PHONY: lint-shell
lint-shell:
	shellcheck -x $(shell grep -lE '^#!/bin/(ba)?sh' -r --exclude='*.md' tests .ci programs deploy docs 2>/dev/null)

.PHONY: lint-cppcheck
lint-cppcheck: $(PROTO_HEADERS)
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --language=c -j2 \
		--enable=warning,portability,performance --suppressions-list=tests/lint/cppcheck.txt \
		$(CPPFLAGS) -i $(BUILD) $(LINT_SOURCES)

# One stamp per source, so that only what changed is analysed again.
.PHONY: lint-tidy
lint-tidy: $(LINT_SOURCES:%.c=$(BUILD)/tidy/%.ok)

$(BUILD)/tidy/%.ok: %.c .clang-tidy | $(PROTO_HEADERS)
	@mkdir -p $(@D)
	@$(if $(V),,echo '  TIDY $<')
	$(Q)clang-tidy --quiet --warnings-as-errors='*' $< -- -std=gnu17 $(CPPFLAGS) \
		-DCEPHZONE_VERSION='""' -DCEPHZONE_COMMIT='""' 2>$(@).log || { cat $(@).log; exit 1; }
	@touch $@

.PHONY: lint-clang
lint-clang: ## everything compiles with clang without a warning
	@$(MAKE) --no-print-directory BUILD=build/clang CC=clang tests-build bench-build

# --- a Kubernetes control plane -------------------------------------------------------------------

.PHONY: e2e
e2e: $(PROGRAMS) e2e-tools ## the driver under a real control plane and csi-provisioner; E2E_ONLY='pattern' for some
	@BUILD=$(BUILD) tests/run e2e tests/e2e/run

.PHONY: e2e-tools
e2e-tools: ## build the control plane for 'make e2e', once
	@tests/e2e/tools >/dev/null

# --- kube-scheduler's verdicts and ours ------------------------------------------------------------

CONFORMANCE := $(BUILD)/tests/conformance/verdicts
VERDICTS ?= 100000

$(CONFORMANCE): $(BUILD)/tests/conformance/verdicts.o $(SCHEDULING_STATIC)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -ljansson

.PHONY: conformance
conformance: $(CONFORMANCE) ## kube-scheduler's plugins and the scheduling library on generated clusters; VERDICTS (100000), SEED (1)
	@BUILD=$(BUILD) SEED=$(SEED) VERDICTS=$(VERDICTS) tests/run $@ tests/conformance/run

.PHONY: conformance-short
conformance-short: ## the same with few verdicts, for CI
	@$(MAKE) --no-print-directory VERDICTS=10000 conformance

# --- other releases -------------------------------------------------------------------------------

RELEASES ?= bookworm trixie forky

.PHONY: matrix
matrix: ## build and test in root file systems of RELEASES (bookworm trixie forky), each with its Ceph
	@for release in $(RELEASES); do tests/matrix/run $$release || broken=1; done; [ -z "$$broken" ]

.PHONY: matrix-short
matrix-short: ## unit tests and much of RBD and CephFS with the newest Ceph, the basics with the one before, for CI
	@tests/matrix/run forky check integration-basics
	@tests/matrix/run trixie basics

.PHONY: matrix-cells
matrix-cells: ## the driver of each release on a Ceph of each; writes docs/compatibility.md
	@tests/matrix/cells

.PHONY: matrix-compilers
matrix-compilers: lint-clang ## everything compiles with gcc and clang of each of RELEASES without a warning
	@tests/matrix/compilers $(RELEASES)

# --- benchmarks ---------------------------------------------------------------------------------

BENCH_PROGRAMS := $(addprefix $(BUILD)/tests/bench/,csi-bench bare-rbd bare-cephfs bare-map topology-bench)

$(BUILD)/tests/bench/csi-bench: $(BUILD)/tests/bench/csi_bench.o
$(BUILD)/tests/bench/bare-rbd: $(BUILD)/tests/bench/bare_rbd.o
$(BUILD)/tests/bench/bare-cephfs: $(BUILD)/tests/bench/bare_cephfs.o
$(BUILD)/tests/bench/topology-bench: $(BUILD)/tests/bench/topology.o
$(BUILD)/tests/bench/bare-map: $(BUILD)/tests/bench/bare_map.o
$(BENCH_PROGRAMS): $(BUILD)/tests/bench/timing.o $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

# --- the VM -------------------------------------------------------------------------------------

KEY_TYPES := $(BUILD)/tests/vm/key-types
$(KEY_TYPES): $(BUILD)/tests/vm/key_types.o $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

# The VM has a kernel with Ceph's clients, which the machine that runs it need not have.
VM_SUITES ?= tests/vm/suite_krbd.sh tests/vm/suite_csi.sh tests/vm/suite_mappings.sh tests/vm/suite_cephfs.sh \
	tests/vm/suite_restart.sh tests/vm/suite_limits.sh tests/vm/suite_many.sh tests/vm/suite_keys.sh

.PHONY: vm-build
vm-build: $(PROGRAMS) $(BENCH_PROGRAMS) $(KEY_TYPES)

.PHONY: test-vm
test-vm: vm-build ## the node service on a real kernel, in a VM
	@BUILD=$(BUILD) VM_SUITES='$(VM_SUITES)' tests/run vm tests/vm/run

# The kernel of this machine's release knows no keys of type 2, the newest one does.
.PHONY: test-vm-keys
test-vm-keys: vm-build ## cephx keys of type 2 of the newest Ceph, with an old and a new kernel
	@tests/vm/image $(BUILD)
	@tests/vm/run-release forky tests/vm/suite_keys.sh
	@tests/vm/run-release forky --kernel=$(BUILD)/vm/unpacked tests/vm/suite_keys.sh

.PHONY: bench-build
bench-build: $(BENCH_PROGRAMS)

.PHONY: bench
bench: $(PROGRAMS) $(BENCH_PROGRAMS) ## rates and latencies beside bare librbd and manager commands on a throwaway Ceph
	@CEPHCSI=$(BUILD)/cephcsi BUILD=$(BUILD) tests/bench/run
	@CEPHCSI=$(BUILD)/cephcsi BUILD=$(BUILD) tests/bench/cephfs
	@$(MAKE) --no-print-directory bench-topology

.PHONY: bench-manager
bench-manager: $(PROGRAMS) $(BENCH_PROGRAMS) ## RBD and CephFS calls while the manager hangs, and while it is gone
	@CEPHCSI=$(BUILD)/cephcsi CEPHZONE=$(BUILD)/cephzone BUILD=$(BUILD) tests/bench/manager

CAPACITY_BENCH := $(BUILD)/tests/bench/capacity-bench
$(CAPACITY_BENCH): $(BUILD)/tests/bench/capacity.o $(FAKE_OBJECTS) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS) -lcmocka

.PHONY: bench-topology
bench-topology: $(PROGRAMS) $(BENCH_PROGRAMS) $(CAPACITY_BENCH) ## pool selection, and GetCapacity with many callers
	@CEPHCSI=$(BUILD)/cephcsi BUILD=$(BUILD) tests/bench/run-topology

BINDING_BENCH := $(BUILD)/tests/bench/binding-bench
$(BINDING_BENCH): $(BUILD)/tests/bench/binding_bench.o $(BUILD)/tests/fakes/cluster_script.o \
		$(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LIBS)

.PHONY: bench-binding
bench-binding: $(BINDING_BENCH) ## volume binding in a cluster of 5,000 nodes and 50,000 volumes
	@$(BINDING_BENCH)
