/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV -> faults. Scans byte by byte on its own, because it looks at what a reader has to forgive:
 * line ends, stray bytes, quotes (RFC 4180; dialect of analysis-current.md section 2.2).
 */
#include <string.h>

#include "base/csv_in.h"
#include "base/hash.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "checks/checks.h"

#include "base/banned.h"

enum place {
	AT_FIELD, /* at the beginning of a field */
	IN_PLAIN,
	IN_QUOTES,
	BEHIND_QUOTES, /* a quote was seen inside quotes: the end, unless another one follows */
};

struct csv_check {
	struct mp_faults faults;
	const char *begin, *end;
	enum place place;
	const char *quote;  /* that opened the field */
	const char *row;    /* where the row begins */
	uint64_t n_fields;  /* complete ones of the row */
	uint64_t n_columns; /* of the header; 0 = not yet known */
	char line_end;      /* of the first line: '\r' for CRLF, '\n' for LF; 0 = not yet known */
};

static void add(struct csv_check *ck, const char *code, const char *at, const char *text)
{
	mp_faults_add(&ck->faults, code, at - ck->begin, "%s", text);
}

/* at is behind the last byte of the row. */
static void end_row(struct csv_check *ck, const char *at)
{
	uint64_t n = ck->n_fields + 1;

	if (at == ck->row) {
		if (ck->n_columns > 1)
			add(ck, "csv-columns", ck->row, "empty line");
	} else if (!ck->n_columns) {
		ck->n_columns = n;
	} else if (n != ck->n_columns) {
		mp_faults_add(&ck->faults, "csv-columns", ck->row - ck->begin,
			      "%llu field%s where the header has %llu", (unsigned long long)n,
			      n == 1 ? "" : "s", (unsigned long long)ck->n_columns);
	}
	ck->n_fields = 0;
	ck->place = AT_FIELD;
}

static void check_line_end(struct csv_check *ck, const char *at, char kind)
{
	if (!ck->line_end)
		ck->line_end = kind;
	else if (kind != ck->line_end)
		add(ck, "csv-line-ends", at,
		    kind == '\r' ? "line ends in CRLF, the first one in LF"
				 : "line ends in LF, the first one in CRLF");
}

/* A byte outside quotes; returns the byte to go on at. */
static const char *plain_byte(struct csv_check *ck, const char *p)
{
	bool crlf = *p == '\r' && p + 1 < ck->end && p[1] == '\n';

	if (*p == '\n' || crlf) {
		end_row(ck, p);
		check_line_end(ck, p, *p);
		ck->row = p + 1 + crlf;
		return ck->row;
	}
	if (*p == ',') {
		ck->n_fields++;
		ck->place = AT_FIELD;
		return p + 1;
	}
	if (*p == '\r')
		add(ck, "csv-cr", p, "carriage return without line feed outside quotes");
	if (ck->place == BEHIND_QUOTES)
		add(ck, "csv-quote", p, "text behind a closing quote");
	ck->place = IN_PLAIN;
	return p + 1;
}

static const char *next_byte(struct csv_check *ck, const char *p)
{
	switch (ck->place) {
	case IN_QUOTES:
		p = memchr(p, '"', (size_t)(ck->end - p));
		if (!p)
			return ck->end;
		ck->place = BEHIND_QUOTES;
		return p + 1;
	case AT_FIELD:
		if (*p != '"')
			return plain_byte(ck, p);
		ck->quote = p;
		ck->place = IN_QUOTES;
		return p + 1;
	case BEHIND_QUOTES:
		if (*p != '"')
			return plain_byte(ck, p);
		ck->place = IN_QUOTES;
		return p + 1;
	case IN_PLAIN:
	default:
		return plain_byte(ck, p);
	}
}

static void check_rows(struct csv_check *ck, const char *from)
{
	const char *p = ck->row = from;

	while (p < ck->end) {
		p = next_byte(ck, p);
		if (p < ck->end || ck->place != IN_QUOTES)
			continue;
		/* As the reader does: on with the line after the one where the quote opens. */
		add(ck, "csv-quote", ck->quote, "unterminated quote");
		p = memchr(ck->quote, '\n', (size_t)(ck->end - ck->quote));
		p = ck->row = p ? p + 1 : ck->end;
		ck->n_fields = 0;
		ck->place = AT_FIELD;
	}
	if (ck->row < ck->end)
		end_row(ck, ck->end);
}

static void check_bytes(struct csv_check *ck)
{
	const char *p;
	size_t left;

	for (p = ck->begin; p < ck->end && (p = memchr(p, '\0', (size_t)(ck->end - p))); p++)
		add(ck, "csv-nul", p, "NUL byte");
	for (p = ck->begin;;) {
		left = (size_t)(ck->end - p);
		p += mp_utf8_valid_prefix(p, left);
		if (p == ck->end)
			break;
		add(ck, "invalid-utf8", p, "invalid UTF-8");
		p += mp_utf8_step(p, (size_t)(ck->end - p)).len;
	}
}

static void check_header(struct csv_check *ck)
{
	struct mp_map64 seen = {0};
	struct mp_csv csv;
	size_t i;

	mp_csv_init(&csv, ck->begin, (size_t)(ck->end - ck->begin));
	if (!mp_csv_next(&csv)) {
		ck->faults.no_memory |= csv.failed != MINDPROF_OK;
		if (!csv.err_text)
			add(ck, "csv-header", ck->begin, "no header");
	}
	for (i = 0; i < csv.n_fields; i++) {
		uint64_t hash = mp_hash_bytes(csv.fields[i].text, csv.fields[i].len, 0);
		uint64_t *before = mp_map64_lookup(&seen, hash);

		if (before)
			mp_faults_add(&ck->faults, "csv-header", csv.row_offset,
				      "columns %llu and %zu have the same title",
				      (unsigned long long)*before + 1, i + 1);
		else if (!mp_map64_put(&seen, hash, i))
			ck->faults.no_memory = true;
	}
	mp_map64_release(&seen);
	mp_csv_release(&csv);
}

mp_status mp_check_csv(const void *data, size_t size, const struct mp_check *check, uint64_t *n_faults,
		       mp_err *err)
{
	struct csv_check ck = {.begin = data ? data : "", .place = AT_FIELD};
	const char *from;

	ck.end = ck.begin + (data ? size : 0);
	mp_faults_init(&ck.faults, check);
	from = ck.begin;
	if (ck.end - from >= 3 && memcmp(from, "\xef\xbb\xbf", 3) == 0)
		from += 3;
	check_rows(&ck, from);
	check_bytes(&ck);
	check_header(&ck);
	return mp_faults_finish(&ck.faults, ck.begin, n_faults, err);
}
