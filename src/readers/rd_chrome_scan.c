/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a JSON array of objects into pieces that can be decoded independently. Each piece is scanned
 * for quotes and brackets under both assumptions, that it begins outside and inside of a string;
 * which one holds follows from the pieces before. So the cuts are exact without a serial parse.
 */
#include "readers/rd_chrome.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/banned.h"

#define LOOK_BACK_MAX ((size_t)64 * 1024)

/* State of the scan inside of one piece. */
struct state {
	uint64_t in_string; /* all ones or zero, relative to the piece's begin */
	bool escaped;       /* the next byte is */
	int64_t depth[2], lowest[2];
};

/* Into the callers below, whatever instructions they are compiled for. */
#define INLINE static inline __attribute__((always_inline))

/* Positions in 64 bytes, lowest bit first. */
struct masks {
	uint64_t quotes, backslashes, opens, closes;
};

#if defined(__x86_64__)
static inline uint64_t bits_of(const __m128i v[4])
{
	return (uint64_t)(unsigned)_mm_movemask_epi8(v[0]) |
	       (uint64_t)(unsigned)_mm_movemask_epi8(v[1]) << 16 |
	       (uint64_t)(unsigned)_mm_movemask_epi8(v[2]) << 32 |
	       (uint64_t)(unsigned)_mm_movemask_epi8(v[3]) << 48;
}

static inline void find_masks(const char *at, struct masks *out)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), bit = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
	__m128i q[4], b[4], o[4], c[4];

	for (int i = 0; i < 4; i++) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
		/* [ and ] differ from { and } in one bit. */
		__m128i brace = _mm_or_si128(v, bit);

		q[i] = _mm_cmpeq_epi8(v, quote);
		b[i] = _mm_cmpeq_epi8(v, backslash);
		o[i] = _mm_cmpeq_epi8(brace, open);
		c[i] = _mm_cmpeq_epi8(brace, close);
	}
	out->quotes = bits_of(q);
	out->backslashes = bits_of(b);
	out->opens = bits_of(o);
	out->closes = bits_of(c);
}

#define WIDE __attribute__((target("avx2,bmi")))

WIDE static inline uint64_t wide_bits(__m256i low, __m256i high)
{
	return (uint64_t)(unsigned)_mm256_movemask_epi8(low) | (uint64_t)(unsigned)_mm256_movemask_epi8(high)
								       << 32;
}

/* As find_masks, with the wider registers of newer processors. */
WIDE static inline void find_masks_wide(const char *at, struct masks *out)
{
	const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
	const __m256i open = _mm256_set1_epi8('{'), close = _mm256_set1_epi8('}'),
		      bit = _mm256_set1_epi8(0x20);
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)at);
	__m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));
	__m256i low_brace = _mm256_or_si256(low, bit), high_brace = _mm256_or_si256(high, bit);

	out->quotes = wide_bits(_mm256_cmpeq_epi8(low, quote), _mm256_cmpeq_epi8(high, quote));
	out->backslashes = wide_bits(_mm256_cmpeq_epi8(low, backslash), _mm256_cmpeq_epi8(high, backslash));
	out->opens = wide_bits(_mm256_cmpeq_epi8(low_brace, open), _mm256_cmpeq_epi8(high_brace, open));
	out->closes = wide_bits(_mm256_cmpeq_epi8(low_brace, close), _mm256_cmpeq_epi8(high_brace, close));
}
#else
static inline void find_masks(const char *at, struct masks *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < 64; i++) {
		char c = at[i];

		out->quotes |= (uint64_t)(c == '"') << i;
		out->backslashes |= (uint64_t)(c == '\\') << i;
		out->opens |= (uint64_t)(c == '{' || c == '[') << i;
		out->closes |= (uint64_t)(c == '}' || c == ']') << i;
	}
}
#endif

/* Bytes that follow an unescaped backslash. */
INLINE uint64_t find_escaped(struct state *state, uint64_t backslashes)
{
	uint64_t escaped = state->escaped ? 1 : 0;

	state->escaped = false;
	if (MP_LIKELY(!backslashes))
		return escaped;
	for (backslashes &= ~escaped; backslashes; backslashes &= backslashes - 1) {
		uint64_t bit = backslashes & (0 - backslashes);

		if (bit >> 63) {
			state->escaped = true;
			break;
		}
		escaped |= bit << 1;
		backslashes &= ~(bit << 1);
	}
	return escaped;
}

/* Bit i becomes the parity of bits 0..i. */
INLINE uint64_t prefix_parity(uint64_t bits)
{
	bits ^= bits << 1;
	bits ^= bits << 2;
	bits ^= bits << 4;
	bits ^= bits << 8;
	bits ^= bits << 16;
	return bits ^ bits << 32;
}

INLINE void scan_masks(struct state *state, const struct masks *masks)
{
	uint64_t quotes = masks->quotes & ~find_escaped(state, masks->backslashes);
	uint64_t in_string = prefix_parity(quotes) ^ state->in_string;
	uint64_t brackets = masks->opens | masks->closes;

	state->in_string = (uint64_t)((int64_t)in_string >> 63);
	for (; brackets; brackets &= brackets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(brackets), inside = in_string >> i & 1;

		state->depth[inside] += masks->opens >> i & 1 ? 1 : -1;
		state->lowest[inside] = MP_MIN(state->lowest[inside], state->depth[inside]);
	}
}

static void scan_blocks(struct state *state, const char *at, size_t n)
{
	struct masks masks;

	for (; n; n--, at += 64) {
		find_masks(at, &masks);
		scan_masks(state, &masks);
	}
}

#if defined(__x86_64__)
WIDE static void scan_blocks_wide(struct state *state, const char *at, size_t n)
{
	struct masks masks;

	for (; n; n--, at += 64) {
		find_masks_wide(at, &masks);
		scan_masks(state, &masks);
	}
}

static bool has_wide(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}
#else
#define scan_blocks_wide scan_blocks
#define has_wide() false
#endif

/* Whether the byte at begin is escaped by backslashes before it. Longer runs are nothing that anybody writes.
 */
static bool begins_escaped(const char *text, size_t floor, size_t begin)
{
	size_t at = begin;

	while (at > floor && text[at - 1] == '\\' && begin - at < LOOK_BACK_MAX)
		at--;
	return (begin - at) & 1;
}

static mp_status scan_piece(void *user, size_t index, unsigned worker MP_UNUSED, mp_err *err MP_UNUSED)
{
	struct chrome_array *array = user;
	struct chrome_piece *piece = &array->pieces[index];
	struct state state = {0};
	size_t at = piece->begin, n = (piece->end - at) / 64;

	state.escaped = begins_escaped(array->text, array->begin, at);
	if (has_wide())
		scan_blocks_wide(&state, array->text + at, n);
	else
		scan_blocks(&state, array->text + at, n);
	at += 64 * n;
	if (at < piece->end) {
		char rest[64] = {0};

		memcpy(rest, array->text + at, piece->end - at);
		scan_blocks(&state, rest, 1);
	}
	piece->flips = state.in_string != 0;
	memcpy(piece->depth, state.depth, sizeof(piece->depth));
	memcpy(piece->lowest, state.lowest, sizeof(piece->lowest));
	return MINDPROF_OK;
}

/* A position with what is known there. depth counts from the array: 1 = between events. */
struct cursor {
	size_t at;
	bool in_string;
	int64_t depth;
};

/* Goes to the next event, or to the bracket that closes the array; false when [at, end) has neither. */
static bool walk_to_event(const struct chrome_array *array, struct cursor *cursor, size_t end)
{
	bool escaped = begins_escaped(array->text, array->begin, cursor->at);

	for (; cursor->at < end; cursor->at++) {
		char c = array->text[cursor->at];

		if (escaped) {
			escaped = false;
		} else if (c == '\\') {
			escaped = true;
		} else if (c == '"') {
			cursor->in_string = !cursor->in_string;
		} else if (!cursor->in_string && (c == '{' || c == '[')) {
			if (c == '{' && cursor->depth == 1)
				return true;
			cursor->depth++;
		} else if (!cursor->in_string && (c == '}' || c == ']')) {
			if (--cursor->depth == 0)
				return true;
		}
	}
	return false;
}

/* Whether an event may begin here: only a comma or the array's bracket stands before it. */
static bool is_after_comma(const struct chrome_array *array, size_t at)
{
	while (at > array->begin && (array->text[at - 1] == ' ' || array->text[at - 1] == '\n' ||
				     array->text[at - 1] == '\r' || array->text[at - 1] == '\t'))
		at--;
	return at == array->begin || array->text[at - 1] == ',';
}

/* The place of the bracket that closes the array, in a piece where the depth falls to 0. */
static size_t find_close(const struct chrome_array *array, struct cursor cursor, size_t end)
{
	while (walk_to_event(array, &cursor, end)) {
		if (cursor.depth == 0)
			return cursor.at;
		cursor.depth++;
		cursor.at++;
	}
	return end;
}

/*
 * Gives each piece its events. Where the text is broken the states of later pieces mean nothing: then no
 * comma stands before what looks like an event, and the rest of the file stays with the piece before, which
 * is decoded in order.
 */
static void settle_pieces(struct chrome_array *array)
{
	struct cursor state = {.at = array->begin, .depth = 1};
	size_t last = 0;
	bool broken = false;

	array->end = array->size;
	for (size_t i = 0; i < array->n_pieces; i++) {
		struct chrome_piece *piece = &array->pieces[i];
		struct cursor cursor = {
			.at = piece->begin, .in_string = state.in_string, .depth = state.depth};

		piece->first = piece->stop = piece->end;
		if (state.depth + piece->lowest[state.in_string] <= 0 && !broken) {
			array->end = find_close(array, cursor, piece->end);
			array->closed = true;
		}
		if (!broken && (i == 0 || walk_to_event(array, &cursor, piece->end))) {
			if (i > 0 && cursor.depth == 1 && !is_after_comma(array, cursor.at)) {
				broken = true;
			} else if (cursor.depth == 1) {
				piece->first = cursor.at;
				array->pieces[last].stop = cursor.at;
				last = i;
			}
		}
		if (array->closed || broken)
			break;
		state.depth += piece->depth[state.in_string];
		state.in_string ^= piece->flips;
	}
	array->pieces[last].stop = broken ? array->size : array->end;
	if (broken)
		array->closed = false;
	array->n_pieces = last + 1;
}

mp_status chrome_scan(struct mp_ctx *ctx, struct chrome_array *array, mp_err *err)
{
	size_t bytes = array->size - array->begin;
	size_t n = bytes / CHROME_PIECE_BYTES + 1;

	array->pieces = mp_calloc(n, sizeof(*array->pieces));
	if (!array->pieces)
		return mp_err_nomem(err, n * sizeof(*array->pieces));
	array->n_pieces = n;
	for (size_t i = 0; i < n; i++) {
		array->pieces[i].begin = array->begin + i * CHROME_PIECE_BYTES;
		array->pieces[i].end = i + 1 < n ? array->pieces[i].begin + CHROME_PIECE_BYTES : array->size;
	}
	MP_TRY(mp_pool_for(ctx->pool, n, scan_piece, array, err));
	settle_pieces(array);
	return MINDPROF_OK;
}
