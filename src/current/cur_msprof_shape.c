/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast way through msprof events. Input: the text of an event. Output: its fields. The tool writes
 * millions of events of a few shapes: the same keys in the same order, other values. A shape is learned
 * from an event whose grammar was checked; an event that has the same bytes between its values and valid
 * values is as valid (analysis-current.md section 7.2).
 */
#include <string.h>

#include "current/cur_msprof_text.h"

#include "base/banned.h"

enum value_kind { VALUE_NONE, VALUE_STRING, VALUE_NUMBER };

enum field { FIELD_NONE, FIELD_NAME, FIELD_PID, FIELD_TID, FIELD_TS, FIELD_DUR, FIELD_ID, FIELD_TASK_TYPE };

/* Readable bytes that a step needs: its literal and the longest number that is read by words. */
#define STEP_BYTES (CUR_SHAPE_LITERAL + 32)
/* Events of known shapes that pay for learning one, so that text without shapes costs little. */
#define LEARN_CREDIT 8
#define MAX_CREDIT 1024

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

/* ---- numbers, eight digits at a time ---- */

static const uint64_t pow10_u64[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

static inline uint64_t load_word(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* How many of the next 8 bytes are digits before the first that is none. */
static inline unsigned count_digits(const uint8_t *at)
{
	uint64_t word = load_word(at) ^ 0x3030303030303030u;
	/* The top bit of each byte that is no digit; wrong only above the first of them. */
	uint64_t over = ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;

	return over ? (unsigned)__builtin_ctzll(over) / 8 : 8;
}

/* The value of n digits, 1 to 8. */
static inline uint64_t word_value(const uint8_t *at, unsigned n)
{
	uint64_t word = (load_word(at) ^ 0x3030303030303030u) << (64 - 8 * n);

	/* Leading zeros came in from below; neighbours are added up: 2, 4 and 8 digits. */
	word = (word & 0x0f0f0f0f0f0f0f0fu) * 2561 >> 8;
	word = (word & 0x00ff00ff00ff00ffu) * 6553601 >> 16;
	return (word & 0x0000ffff0000ffffu) * 42949672960001u >> 32;
}

/* Up to 16 digits; returns how many there are, 0 also when there are more. */
static inline unsigned take_digits(const uint8_t *at, uint64_t *value)
{
	unsigned n = count_digits(at), more;

	if (!n)
		return 0;
	*value = word_value(at, n);
	if (n < 8)
		return n;
	more = count_digits(at + 8);
	if (more)
		*value = *value * pow10_u64[more] + word_value(at + 8, more);
	return more < 8 || !cur_is_digit(at[16]) ? 8 + more : 0;
}

/* The end of a number that nothing needs; NULL when it is unusual. */
static inline const uint8_t *skip_number(const uint8_t *at)
{
	unsigned n = count_digits(at), decimals;

	if (!n || (at[0] == '0' && n > 1))
		return NULL;
	if (n == 8) {
		n += count_digits(at + 8);
		if (n == 16)
			return NULL;
	}
	if (at[n] != '.')
		return at + n;
	decimals = count_digits(at + n + 1);
	return decimals && decimals < 8 ? at + n + 1 + decimals : NULL;
}

/* n decimals of a microsecond, 1 to 8, in ns; half to even together with the ns before them. */
static inline int64_t decimals_ns(const uint8_t *at, unsigned n, int64_t before_ns)
{
	uint64_t value = word_value(at, n), unit, ns, rest;

	if (MP_LIKELY(n <= 3))
		return (int64_t)(value * pow10_u64[3 - n]);
	unit = pow10_u64[n - 3];
	ns = value / unit;
	rest = value % unit * 2;
	return (int64_t)(ns + (rest > unit || (rest == unit && ((uint64_t)before_ns + ns) % 2)));
}

/* Microseconds with at most 8 decimals; NULL when they are written in another way. */
static inline const uint8_t *take_us(const uint8_t *at, int64_t *ns)
{
	uint64_t whole;
	unsigned n = take_digits(at, &whole), decimals;

	if (!n || whole > INT64_MAX / 1000 - 1 || (at[0] == '0' && n > 1))
		return NULL;
	*ns = (int64_t)whole * 1000;
	at += n;
	if (*at != '.')
		return at;
	decimals = count_digits(at + 1);
	if (!decimals || (decimals == 8 && cur_is_digit(at[9])))
		return NULL;
	*ns += decimals_ns(at + 1, decimals, *ns);
	return at + 1 + decimals;
}

/* ---- an event of a shape ---- */

static inline bool has_literal(const struct cur_msprof_step *step, const uint8_t *at)
{
	uint64_t differ = 0;
	unsigned i;

	for (i = 0; i < MP_COUNT(step->word); i++)
		differ |= (load_word(at + 8 * i) ^ step->word[i]) & step->mask[i];
	return !differ;
}

static inline const uint8_t *take_number(const struct cur_msprof_step *step, const uint8_t *at,
					 const uint8_t *end, struct cur_msprof_event *event)
{
	const uint8_t *behind = NULL;
	uint64_t whole = 0;
	unsigned n;

	switch (step->field) {
	case FIELD_PID:
	case FIELD_TID:
		n = take_digits(at, &whole);
		if (!n || (at[0] == '0' && n > 1))
			return NULL;
		*(step->field == FIELD_PID ? &event->pid : &event->tid) = (int64_t)whole;
		return at + n;
	case FIELD_TS:
		return take_us(at, &event->ts_ns);
	case FIELD_DUR:
		behind = take_us(at, &event->dur_ns);
		event->dur = (struct mp_str){(const char *)at, behind ? (size_t)(behind - at) : 0};
		return behind;
	default:
		behind = skip_number(at);
		if (!behind)
			behind = cur_number_end(at, end);
		if (step->field == FIELD_ID && behind)
			event->id = (struct mp_str){(const char *)at, (size_t)(behind - at)};
		return behind;
	}
}

static inline const uint8_t *take_string(const struct cur_msprof_step *step, const uint8_t *at,
					 const uint8_t *end, struct cur_msprof_event *event)
{
	struct mp_str *text = step->field == FIELD_NAME ? &event->name
			      : step->field == FIELD_ID ? &event->id
							: &event->task_type;
	const uint8_t *close;

	if (step->field == FIELD_TS) {
		close = take_us(at, &event->ts_ns);
		return close && *close == '"' ? close : NULL;
	}
	close = cur_string_end(at, end);
	if (step->field != FIELD_NONE && close)
		*text = (struct mp_str){(const char *)at, (size_t)(close - at)};
	return close;
}

static const uint8_t *match(const struct cur_msprof_shape *shape, const uint8_t *at, const uint8_t *end,
			    struct cur_msprof_event *event)
{
	const uint8_t *begins[CUR_SHAPE_STEPS];
	unsigned i;

	for (i = 0; i < shape->n; i++) {
		const struct cur_msprof_step *step = &shape->steps[i];

		if (end - at < STEP_BYTES || !has_literal(step, at))
			return NULL;
		begins[i] = at;
		at += step->len;
		if (step->value == VALUE_STRING)
			at = take_string(step, at, end, event);
		else if (step->value == VALUE_NUMBER)
			at = take_number(step, at, end, event);
		if (!at)
			return NULL;
	}
	if (shape->has_args) {
		event->args = begins[shape->open_step] + shape->open_at;
		event->args_close = begins[shape->close_step] + shape->close_at;
	}
	return at;
}

static const uint8_t *try_shape(struct cur_msprof_shapes *shapes, unsigned index, const uint8_t *at,
				const uint8_t *end, struct cur_msprof_event *event)
{
	const struct cur_msprof_shape *shape = &shapes->at[index];
	const uint8_t *behind;

	*event = shape->constant;
	behind = match(shape, at, end, event);
	if (behind) {
		shapes->at[shapes->last].next = (uint8_t)index;
		shapes->last = (uint8_t)index;
		shapes->credit += shapes->credit < MAX_CREDIT;
	}
	return behind;
}

const uint8_t *cur_shapes_scan(struct cur_msprof_shapes *shapes, const uint8_t *at, const uint8_t *end,
			       struct cur_msprof_event *event)
{
	unsigned guess, i;
	const uint8_t *behind;

	if (!shapes->n)
		return NULL;
	guess = shapes->at[shapes->last].next;
	behind = try_shape(shapes, guess, at, end, event);
	for (i = 0; !behind && i < shapes->n; i++) {
		uint8_t index = shapes->order[i];

		if (index == guess)
			continue;
		behind = try_shape(shapes, index, at, end, event);
		if (behind) {
			memmove(shapes->order + 1, shapes->order, i);
			shapes->order[0] = index;
		}
	}
	return behind;
}

/* ---- learning ---- */

struct learning {
	struct cur_msprof_shape *shape;
	const uint8_t *from;         /* begin of the literal */
	const uint8_t *open, *close; /* braces of "args" */
	unsigned seen;               /* bits 1 << enum field */
};

/* The literal up to `to`, then a value. False when the shape has no room. */
static bool add_step(struct learning *learning, const uint8_t *to, enum value_kind value, enum field field)
{
	struct cur_msprof_shape *shape = learning->shape;

	for (;;) {
		size_t len = MP_MIN((size_t)(to - learning->from), (size_t)CUR_SHAPE_LITERAL);
		bool is_last = learning->from + len == to;
		struct cur_msprof_step *step = &shape->steps[shape->n];

		if (shape->n == CUR_SHAPE_STEPS)
			return false;
		*step = (struct cur_msprof_step){.len = (uint8_t)len};
		memcpy(step->word, learning->from, len);
		memset(step->mask, 0xff, len);
		if (learning->open >= learning->from && learning->open < learning->from + len) {
			shape->open_step = (uint8_t)shape->n;
			shape->open_at = (uint8_t)(learning->open - learning->from);
		}
		if (learning->close >= learning->from && learning->close < learning->from + len) {
			shape->close_step = (uint8_t)shape->n;
			shape->close_at = (uint8_t)(learning->close - learning->from);
		}
		shape->n++;
		learning->from += len;
		if (is_last) {
			step->value = (uint8_t)value;
			step->field = (uint8_t)field;
			return true;
		}
	}
}

static enum field field_of(struct mp_str key, bool in_args)
{
	static const struct {
		const char *key;
		enum field field;
	} fields[] = {
		{"name", FIELD_NAME}, {"pid", FIELD_PID}, {"tid", FIELD_TID},
		{"ts", FIELD_TS},     {"dur", FIELD_DUR}, {"id", FIELD_ID},
	};
	size_t i;

	if (in_args)
		return mp_str_is(key, "Task Type") ? FIELD_TASK_TYPE : FIELD_NONE;
	for (i = 0; i < MP_COUNT(fields); i++)
		if (mp_str_is(key, fields[i].key))
			return fields[i].field;
	return FIELD_NONE;
}

/* Whether a field may have a value of this kind on the fast way. */
static bool fits(enum field field, bool is_string)
{
	if (field == FIELD_PID || field == FIELD_TID || field == FIELD_DUR)
		return !is_string;
	if (field == FIELD_NAME || field == FIELD_TASK_TYPE)
		return is_string;
	return true;
}

/* A string or number that may be another one in the next event; returns its end, NULL when it does not fit.
 */
static const uint8_t *learn_value(struct learning *learning, struct mp_str key, const uint8_t *value,
				  const uint8_t *end, bool in_args)
{
	bool is_string = *value == '"';
	enum field field = field_of(key, in_args);
	const uint8_t *behind;

	if (!fits(field, is_string) || (field != FIELD_NONE && learning->seen >> field & 1))
		return NULL;
	learning->seen |= 1u << field;
	if (field == FIELD_TS)
		learning->shape->constant.numeric_ts = !is_string;
	if (!add_step(learning, value + is_string, is_string ? VALUE_STRING : VALUE_NUMBER, field))
		return NULL;
	behind = is_string ? cur_string_end(value + 1, end) : cur_number_end(value, end);
	learning->from = behind; /* the closing quote belongs to the next literal */
	return behind ? behind + is_string : NULL;
}

/* Values that make the meaning of an event stay in the literal. */
static const uint8_t *learn_member(struct learning *learning, struct mp_str key, const uint8_t *value,
				   const uint8_t *end, bool in_args)
{
	struct cur_msprof_event *constant = &learning->shape->constant;
	const uint8_t *behind;
	struct mp_str text;

	if (*value == 't' || *value == 'n')
		return value + 4;
	if (*value == 'f')
		return value + 5;
	if (*value == '{' || *value == '[')
		return NULL;
	if (in_args || *value != '"' || (!mp_str_is(key, "ph") && !mp_str_is(key, "cat")))
		return mp_str_is(key, "ph") && !in_args ? NULL
							: learn_value(learning, key, value, end, in_args);
	behind = cur_string_end(value + 1, end);
	if (!behind)
		return NULL;
	text = (struct mp_str){(const char *)value + 1, (size_t)(behind - value - 1)};
	if (key.len == 2)
		constant->phase = text.len == 1 ? text.text[0] : 0;
	else
		constant->host_to_device = mp_str_is(text, "HostToDevice");
	return behind + 1;
}

/* The members of an object whose grammar is known to be good; returns the closing brace. */
static const uint8_t *learn_members(struct learning *learning, const uint8_t *at, const uint8_t *end,
				    bool in_args)
{
	at = cur_skip_blank(at + 1, end);
	while (at < end && *at != '}') {
		struct mp_str key = {(const char *)at + 1, 0};

		at = cur_string_end(at + 1, end);
		if (!at)
			return NULL;
		key.len = (size_t)((const char *)at - key.text);
		at = cur_skip_blank(cur_skip_blank(at + 1, end) + 1, end);
		if (!in_args && mp_str_is(key, "args") && *at == '{') {
			if (learning->open)
				return NULL;
			learning->open = at;
			learning->close = at = learn_members(learning, at, end, true);
			at = at ? at + 1 : NULL;
		} else {
			at = learn_member(learning, key, at, end, in_args);
		}
		if (!at)
			return NULL;
		if (in_args && mp_str_is(key, "mindspore_op"))
			learning->shape->constant.args_named = true;
		at = cur_skip_blank(at, end);
		if (at < end && *at == ',')
			at = cur_skip_blank(at + 1, end);
	}
	return at < end ? at : NULL;
}

/* False when it is known already: the event has an unusual value. */
static bool is_new(const struct cur_msprof_shapes *shapes, const struct cur_msprof_shape *shape)
{
	unsigned i;

	for (i = 0; i < shapes->n; i++)
		if (shapes->at[i].n == shape->n &&
		    !memcmp(shapes->at[i].steps, shape->steps, shape->n * sizeof(shape->steps[0])))
			return false;
	return true;
}

void cur_shapes_learn(struct cur_msprof_shapes *shapes, const uint8_t *at, const uint8_t *behind)
{
	struct cur_msprof_shape shape = {0};
	struct learning learning = {.shape = &shape, .from = at};
	unsigned index, place;

	if (shapes->credit < LEARN_CREDIT)
		return;
	shapes->credit -= LEARN_CREDIT;
	if (!learn_members(&learning, at, behind, false) ||
	    !add_step(&learning, behind, VALUE_NONE, FIELD_NONE) || !is_new(shapes, &shape))
		return;
	shape.has_args = learning.open != NULL;
	shape.constant.args_empty =
		shape.has_args && cur_skip_blank(learning.open + 1, behind) == learning.close;
	shape.constant.has_pid = learning.seen >> FIELD_PID & 1;
	shape.constant.has_ts = learning.seen >> FIELD_TS & 1;
	/* The one that was new or surprising least recently makes room. */
	place = MP_MIN(shapes->n, CUR_SHAPES - 1u);
	index = shapes->n < CUR_SHAPES ? shapes->n++ : shapes->order[place];
	shape.next = (uint8_t)index;
	shapes->at[index] = shape;
	memmove(shapes->order + 1, shapes->order, place);
	shapes->order[0] = (uint8_t)index;
}

#else

const uint8_t *cur_shapes_scan(struct cur_msprof_shapes *shapes, const uint8_t *at, const uint8_t *end,
			       struct cur_msprof_event *event)
{
	(void)shapes;
	(void)at;
	(void)end;
	(void)event;
	return NULL;
}

void cur_shapes_learn(struct cur_msprof_shapes *shapes, const uint8_t *at, const uint8_t *behind)
{
	(void)shapes;
	(void)at;
	(void)behind;
}

#endif
