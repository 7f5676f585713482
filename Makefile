# SPDX-License-Identifier: GPL-2.0-or-later
# One makefile. Variants (compiler, sanitizers) build side by side: build/, build/<variant>/.
#   make                      build/wakeif
#   make deps demo            install packages, build, report on samples/
#   make deps check           install packages, build and run the tests
#   make deps check-full      the long tests as well: clang, sanitizers, an emulated guest
#   make SAN=address,undefined check
#   make V=1                  with the whole command lines

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

VERSION := 0.1.0
prefix ?= /usr/local
bindir ?= $(prefix)/bin
datadir ?= $(prefix)/share
includedir ?= $(prefix)/include
INSTALL ?= install

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
comma := ,
empty :=
space := $(empty) $(empty)
VARIANT := $(subst $(space),-,$(strip $(if $(filter-out gcc cc,$(notdir $(CC))),$(notdir $(CC))) $(if $(SAN),san-$(subst $(comma),-,$(SAN))) $(if $(COVERAGE),coverage)))
O ?= build$(if $(VARIANT),/$(VARIANT))

# Packages: run time and build, then what the tests use.
PKGS_BUILD := gcc make pkg-config libtraceevent-dev libtracefs-dev libtracecmd-dev libhwloc-dev libarchive-dev libzstd-dev zlib1g-dev libjansson-dev libsqlite3-dev nettle-dev
PKGS_CHECK := trace-cmd zstd xz-utils bzip2 gzip python3 libcmocka-dev hwloc util-linux git jq sqlite3
PKGS_FULL := clang-14 libclang-rt-14-dev linux-perf qemu-system-x86 busybox-static cpio rt-tests $(PKGS_CLUSTER)
# Their daemons are started by the tests alone.
PKGS_CLUSTER := slurm-wlm munge parallel openssh-server openssh-client
PC_MODULES := libtraceevent libtracefs libtracecmd hwloc libarchive libzstd zlib jansson sqlite3 nettle

# pkg-config is asked when a rule needs it, not when this file is read: "make deps check" starts without it.
PC_CFLAGS = $(eval PC_CFLAGS := $$(shell pkg-config --cflags $(PC_MODULES)))$(PC_CFLAGS)
PC_LIBS = $(eval PC_LIBS := $$(shell pkg-config --libs $(PC_MODULES)))$(PC_LIBS)

# Two fields side by side are written faster one by one than packed into a vector first, so no -ftree-slp-vectorize.
OPT ?= $(if $(SAN),-O1 -g,-O3 -fno-tree-slp-vectorize -g)
# The program is optimised across files; fat objects let the tests link fast without it. gcc only, not when instrumented.
LTO ?= $(if $(SAN)$(COVERAGE)$(filter-out gcc cc,$(notdir $(CC))),,-flto=auto)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 $(if $(WERROR),-Werror)
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
COV_FLAGS := $(if $(COVERAGE),--coverage)
ALL_CFLAGS = -std=gnu17 $(OPT) $(if $(LTO),$(LTO) -ffat-lto-objects) $(WARN) $(SAN_FLAGS) $(COV_FLAGS) -D_GNU_SOURCE -DWAKEIF_VERSION='"$(VERSION)"' -I. $(PC_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(if $(LTO),-fno-lto) $(SAN_FLAGS) $(COV_FLAGS) $(LDFLAGS)
ALL_LIBS = $(PC_LIBS) -ldl -lm $(LIBS)

LIB_SRC := $(wildcard analyzer/base/*.c analyzer/store/*.c analyzer/batch/*.c parsers/*.c models/*.c analyzer/topology/*.c analyzer/record/*.c analyzer/timeline/*.c analyzer/metrics/*.c analyzer/report/*.c analyzer/replay/*.c analyzer/truth/*.c analyzer/workload/*.c analyzer/sim/*.c analyzer/stats/*.c)
CMD_SRC := $(wildcard analyzer/*.c)
TEST_SRC := $(wildcard tests/unit/test_*.c)
GEN_SRC := $(wildcard tests/gen/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
say = $(if $(V),,@echo '  $(1) $@';)

.PHONY: all deps demo check check-full bench fuzz coverage install uninstall clean
all: $(O)/wakeif

$(O)/libwakeif.a: $(call obj,$(LIB_SRC))
	@rm -f $@
	$(call say,AR  )ar rcs $@ $^

$(O)/wakeif: $(call obj,$(CMD_SRC) $(LIB_SRC))
	$(call say,LINK)$(CC) $(filter-out -fno-lto,$(ALL_LDFLAGS)) $(if $(LTO),$(OPT) $(LTO)) -o $@ $^ $(ALL_LIBS)

$(O)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC  )$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Unit tests: one cmocka program a file. tests/unit/*.c without the prefix test_ is shared by them, and so is the writer of traces.
GEN_HELP := $(call obj,$(filter-out tests/gen/gen_%.c,$(GEN_SRC)))
TEST_BIN := $(patsubst tests/unit/%.c,$(O)/tests/%,$(TEST_SRC))
TEST_HELP := $(call obj,$(filter-out $(TEST_SRC),$(wildcard tests/unit/*.c)))
$(O)/tests/test_%: $(O)/obj/tests/unit/test_%.o $(TEST_HELP) $(GEN_HELP) $(O)/libwakeif.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LIBS) -lcmocka

# Generators of traces: one program a file in tests/gen named gen_*.c; the other files there are shared by them.
GEN_BIN := $(patsubst tests/gen/%.c,$(O)/tests/%,$(filter tests/gen/gen_%.c,$(GEN_SRC)))
$(O)/tests/gen_%: $(O)/obj/tests/gen/gen_%.o $(GEN_HELP) $(O)/libwakeif.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LIBS)

# Experiments with the closed loop: one program a file. They use what the command uses.
SIM_BIN := $(patsubst tests/sim/%.c,$(O)/tests/%,$(wildcard tests/sim/*.c))
SIM_HELP := $(call obj,$(wildcard tests/unit/sim_*.c) $(filter-out analyzer/main.c,$(CMD_SRC))) $(GEN_HELP)
$(SIM_BIN): $(O)/tests/%: $(O)/obj/tests/sim/%.o $(SIM_HELP) $(O)/libwakeif.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LIBS)

# Statistics by themselves: one program a file.
STATS_BIN := $(patsubst tests/stats/%.c,$(O)/tests/%,$(wildcard tests/stats/*.c))
$(STATS_BIN): $(O)/tests/%: $(O)/obj/tests/stats/%.o $(O)/libwakeif.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LIBS)

# Fuzz targets: with clang they are libFuzzer programs (make fuzz); tests/fuzz/replay.c gives each a main that replays a corpus.
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(O)/tests/%,$(FUZZ_SRC))
$(O)/tests/fuzz_%: $(O)/obj/tests/fuzz/fuzz_%.o $(O)/obj/tests/fuzz/replay.o $(O)/libwakeif.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LIBS)

# Peers for the benchmarks.
BENCH_SRC := $(wildcard tests/bench/*.c)
BENCH_BIN := $(patsubst tests/bench/%.c,$(O)/tests/%,$(BENCH_SRC))
$(O)/tests/peer_%: $(O)/obj/tests/bench/peer_%.o $(O)/libwakeif.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LIBS)

.SECONDARY:

.PHONY: programs tests-built bench-built
programs: $(O)/wakeif
tests-built: $(O)/wakeif $(TEST_BIN) $(GEN_BIN) $(FUZZ_BIN) $(SIM_BIN) $(STATS_BIN)
	@rm -f $(filter-out $(TEST_BIN) $(FUZZ_BIN),$(wildcard $(O)/tests/test_* $(O)/tests/fuzz_*)) # of sources that are gone
bench-built: $(O)/wakeif $(GEN_BIN) $(BENCH_BIN)

# "check" after "deps" also under -j: goals with a sub-make run one after another as they are named (two sub-makes would write
# the same objects), and everything that needs pkg-config runs in a sub-make, which is parallel.
ifneq ($(filter deps demo check check-full bench fuzz coverage clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
DEPS_FIRST := $(if $(filter deps,$(MAKECMDGOALS)),deps)

# Sub-makes use all CPUs unless a -j was given, which they then inherit.
SUBMAKE = --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# What root builds in somebody else's tree ("sudo make deps demo") stays theirs to build on.
HAND_OVER = if [ $$(id -u) = 0 ] && [ -d build ]; then chown -R --reference=Makefile build; fi

SUDO := $(if $(filter-out 0,$(shell id -u)),sudo)
APT_INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends
deps:
	@missing=""; for p in $(PKGS_BUILD) $(PKGS_CHECK) $(if $(filter check-full fuzz,$(MAKECMDGOALS)),$(PKGS_FULL)); do \
		[ "$$(dpkg-query -W -f='$${db:Status-Status}' $$p 2>/dev/null)" = installed ] || missing="$$missing $$p"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	command -v apt-get >/dev/null || { echo "deps: no apt-get here; needed is what these Debian packages hold:$$missing" >&2; exit 1; }; \
	echo "deps: installing$$missing"; \
	$(SUDO) apt-get update -qq || exit 1; policy=/usr/sbin/policy-rc.d; \
	if [ -n "$(filter check-full fuzz,$(MAKECMDGOALS))" ] && [ ! -e $$policy ]; then \
		printf '#!/bin/sh\nexit 101\n' | $(SUDO) tee $$policy >/dev/null; $(SUDO) chmod 755 $$policy; trap "$(SUDO) rm -f $$policy" EXIT; fi; \
	$(SUDO) env $(APT_INSTALL) $$missing >/dev/null

demo: | $(DEPS_FIRST)
	@$(MAKE) $(SUBMAKE) programs
	@$(HAND_OVER)
	@O=$(O) tests/demo.sh

RUN_TESTS = O=$(O) WAKEIF_INSTRUMENTED=$(if $(COVERAGE),coverage,$(if $(SAN),sanitizers)) tests/run.sh $(1); status=$$?; $(HAND_OVER); exit $$status
check: | $(DEPS_FIRST)
	@$(MAKE) $(SUBMAKE) tests-built WERROR=1
	@$(call RUN_TESTS,check)

check-full: | $(DEPS_FIRST)
	@$(MAKE) $(SUBMAKE) tests-built WERROR=1
	@$(call RUN_TESTS,full)

bench: | $(DEPS_FIRST)
	@$(MAKE) $(SUBMAKE) bench-built
	@O=$(O) tests/bench/run.sh

fuzz: | $(DEPS_FIRST)
	@$(MAKE) $(SUBMAKE) CC=clang-14 SAN=address,undefined,fuzzer-no-link O=build/fuzz tests-built-fuzz
	@O=build/fuzz tests/fuzz/run.sh

.PHONY: tests-built-fuzz
tests-built-fuzz: $(patsubst tests/fuzz/fuzz_%.c,$(O)/fuzz/%,$(FUZZ_SRC))
$(O)/fuzz/%: $(O)/obj/tests/fuzz/fuzz_%.o $(O)/libwakeif.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -fsanitize=address,undefined,fuzzer -o $@ $^ $(ALL_LIBS)

coverage: | $(DEPS_FIRST)
	@$(MAKE) $(SUBMAKE) COVERAGE=1 OPT='-O0 -g' check; status=$$?; O=build/coverage tests/coverage.sh && exit $$status

# The self-replay and the recorded pairs of the corpus, and the twin experiment, into doc/accuracy.md.
.PHONY: accuracy
accuracy:
	@$(MAKE) $(SUBMAKE) programs $(O)/tests/twin
	@[ -d $${WAKEIF_SHARED:-../shared}/corpus ] || { echo "accuracy: no recordings in $${WAKEIF_SHARED:-../shared}/corpus" >&2; exit 1; }
	@/usr/bin/python3 tests/accuracy.py $(O)/wakeif $${WAKEIF_SHARED:-../shared}/corpus > $(O)/accuracy.md && cp $(O)/accuracy.md doc/accuracy.md

# doc/schema.md from the declarations in analyzer/store.
.PHONY: schema
schema:
	@$(MAKE) $(SUBMAKE) $(O)/tests/gen_archive
	@$(O)/tests/gen_archive --schema > $(O)/schema.md && cp $(O)/schema.md doc/schema.md

# samples/wake-affine.db from recordings of the corpus.
.PHONY: sample-archive
sample-archive:
	@$(MAKE) $(SUBMAKE) programs
	@bash tests/gen/sample_archive.sh $(O)/wakeif $${WAKEIF_SHARED:-../shared}/corpus/ab/61-nowake samples/wake-affine.db

# How often intervals of 95 % hold the truth, on made-up data: the tables of doc/statistics.md.
.PHONY: coverage-stats
coverage-stats:
	@$(MAKE) $(SUBMAKE) $(O)/tests/coverage
	@$(O)/tests/coverage

install: all
	$(INSTALL) -D -m 755 $(O)/wakeif $(DESTDIR)$(bindir)/wakeif
	$(INSTALL) -D -m 644 models/wakeif_model.h $(DESTDIR)$(includedir)/wakeif/wakeif_model.h

uninstall:
	rm -f $(DESTDIR)$(bindir)/wakeif $(DESTDIR)$(includedir)/wakeif/wakeif_model.h
	[ ! -d $(DESTDIR)$(includedir)/wakeif ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(includedir)/wakeif

clean:
	rm -rf build

-include $(patsubst %.o,%.d,$(call obj,$(LIB_SRC) $(CMD_SRC) $(wildcard tests/unit/*.c) $(GEN_SRC) $(FUZZ_SRC) $(BENCH_SRC) $(wildcard tests/sim/*.c tests/stats/*.c)) $(O)/obj/tests/fuzz/replay.o)
