/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's clock: which counter to read, and points that tie it to CLOCK_MONOTONIC and
 * CLOCK_REALTIME. Input: /proc/cpuinfo, the kernel's clock source. Output: struct mp_native_clock
 * (docs/formats/native.md, "Clock").
 */
#include "record/rec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/banned.h"

#define CALIBRATION_TRIES 16

uint32_t mp_rec_clock;

static int64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t mp_rec_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t mp_rec_clock_gettime(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)
/* The first bytes of a file as a string; empty when it cannot be read. */
static void read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	while (fd >= 0 && len < size - 1 && n > 0) {
		n = read(fd, buf + len, size - 1 - len);
		if (n > 0)
			len += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	buf[len] = '\0';
}

/* Does the list of words hold this one? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word)) {
		if (at > list && at[-1] == ' ' && (at[len] == ' ' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* The TSC counts at one rate on all cores if the processor says so and the kernel itself relies on it. */
static bool tsc_is_invariant(void)
{
	char text[16384];
	char *flags;

	read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, sizeof(text));
	if (strcmp(text, "tsc\n") != 0)
		return false;
	read_text("/proc/cpuinfo", text, sizeof(text));
	flags = strstr(text, "\nflags");
	if (!flags)
		return false;
	flags++;
	flags[strcspn(flags, "\n")] = '\0';
	return has_word(flags, "constant_tsc") && has_word(flags, "nonstop_tsc");
}
#endif

static uint32_t best_clock(void)
{
	const char *wish = getenv("MINDPROF_CLOCK");

	if (wish && strcmp(wish, "clock_gettime") == 0)
		return MP_REC_CLOCK_GETTIME;
#if defined(__x86_64__)
	return tsc_is_invariant() ? MP_REC_CLOCK_TSC : MP_REC_CLOCK_GETTIME;
#elif defined(__aarch64__)
	return MP_REC_CLOCK_CNTVCT;
#else
	return MP_REC_CLOCK_GETTIME;
#endif
}

void mp_rec_clock_choose(void)
{
	if (!__atomic_load_n(&mp_rec_clock, __ATOMIC_RELAXED))
		__atomic_store_n(&mp_rec_clock, best_clock(), __ATOMIC_RELAXED);
}

const char *mp_rec_clock_name(void)
{
	switch (__atomic_load_n(&mp_rec_clock, __ATOMIC_RELAXED)) {
	case MP_REC_CLOCK_TSC:
		return "tsc";
	case MP_REC_CLOCK_CNTVCT:
		return "cntvct";
	default:
		return "clock_gettime";
	}
}

uint64_t mp_rec_clock_hz(void)
{
	uint32_t clock = __atomic_load_n(&mp_rec_clock, __ATOMIC_RELAXED);

	if (clock == MP_REC_CLOCK_GETTIME)
		return 1000000000;
#if defined(__x86_64__)
	unsigned denominator, numerator, crystal_hz, unused;

	if (clock == MP_REC_CLOCK_TSC && __get_cpuid(0x15, &denominator, &numerator, &crystal_hz, &unused) &&
	    denominator && numerator)
		return (uint64_t)crystal_hz * numerator / denominator;
#elif defined(__aarch64__)
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
#endif
	return 0;
}

/*
 * tick, monotonic, realtime, monotonic, tick: the means of the outer pairs belong to the instant of
 * the middle reading. The narrowest of several tries is the one that was disturbed least.
 */
struct mp_native_clock mp_rec_clock_point(uint64_t base_tick)
{
	struct mp_native_clock best = {0};
	uint32_t clock = __atomic_load_n(&mp_rec_clock, __ATOMIC_RELAXED);
	uint64_t best_width = UINT64_MAX;

	for (int i = 0; i < CALIBRATION_TRIES; i++) {
		uint64_t first = mp_rec_tick(clock);
		int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
		int64_t real_ns = clock_ns(CLOCK_REALTIME);
		int64_t after_ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t width = mp_rec_tick(clock) - first;

		if (width >= best_width)
			continue;
		best_width = width;
		best.tick = first + width / 2 - base_tick;
		best.monotonic_ns = before_ns + (after_ns - before_ns) / 2;
		best.realtime_ns = real_ns;
		/* Half of the whole reading: its outer halves take as long as the inner two. */
		best.uncertainty_ns = (uint32_t)MP_MIN(after_ns - before_ns, (int64_t)UINT32_MAX);
	}
	return best;
}

void mp_rec_clock_write(uint64_t base_tick)
{
	struct mp_native_clock point = mp_rec_clock_point(base_tick);
	struct iovec iov = {&point, sizeof(point)};

	mp_rec_log_add(MP_NATIVE_SEG_CLOCK, 1, &iov, 1);
}
