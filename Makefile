# A short front to the build description in CMakeLists.txt. The release build goes to build/.
BUILD = build
PREFIX = /usr/local
JOBS = $(shell nproc)
C_DIRS = src cli tests examples bench fuzz
C_FILES = $(shell find $(C_DIRS) -name '*.c')

.PHONY: all demo check check-full check-oracle bench bench-vs-original samples install format tidy clean

all: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

$(BUILD)/build.ninja:
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release

# Records, analyses and reports a training program, then a directory that MindSpore wrote.
demo: all
	@tools/demo $(BUILD)

# All tests; the last line is the sum. check-full takes longer and looks deeper.
check:
	@tools/check --jobs $(JOBS)
check-full:
	@tools/check --jobs $(JOBS) --full

# 20 inputs that nobody has seen before, analysed by MindSpore 2.7.0 and by MindProf. Minutes; the network the first time.
check-oracle: all
	@tools/check-oracle --build $(BUILD)

bench: all
	@tools/bench $(BUILD)

# CPU time and peak memory beside those of MindSpore 2.7.0.
bench-vs-original: all
	@bench/vs-original --build $(BUILD)

# docs/samples.md: what the analysis makes of every sample.
samples: all
	@tools/make-samples-table --build $(BUILD)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@clang-format -i $(C_FILES)

# With assertions, because they tell the analyzer what the code relies on. Some minutes.
tidy:
	@cmake --preset dev-clang >/dev/null
	@clang-tidy --quiet -p $(BUILD)/dev-clang $(filter-out tests/% fuzz/% bench/%,$(C_FILES))

clean:
	@cmake -E rm -rf $(BUILD)
