/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the JSON trace check: tokens with watched keys, and what is kept of events. */
#ifndef MP_CK_JSON_H
#define MP_CK_JSON_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/json_in.h"
#include "checks/checks.h"

/* --- tokens; every key is compared with the others of its object (ck_json_keys.c) */

struct ck_key {
	uint64_t hash; /* of the decoded key; 64 bits are taken for equality */
	int64_t offset;
};

struct ck_tokens {
	struct mp_json json;
	struct mp_faults *faults; /* borrowed */
	MP_VEC(struct ck_key) keys; /* owned; of all open objects, outermost first */
	size_t marks[MP_JSON_DEPTH + 1]; /* where the keys of each open level begin */
	struct mp_buf decoded;           /* owned */
};

void ck_tokens_init(struct ck_tokens *tokens, const void *data, size_t size, struct mp_faults *faults);
/* As mp_json_next; a fault of syntax is reported when it is met. */
enum mp_json_type ck_tokens_next(struct ck_tokens *tokens);
/* Reads to the end of the value whose first token was `first`; false after a fault. */
bool ck_tokens_skip(struct ck_tokens *tokens, enum mp_json_type first);
void ck_tokens_release(struct ck_tokens *tokens);
/* Where the token that was just read begins, the quote included. */
static inline int64_t ck_tokens_at(const struct ck_tokens *tokens, enum mp_json_type type)
{
	return tokens->json.text - tokens->json.begin - (type == MP_JSON_STRING || type == MP_JSON_KEY);
}

/* --- what is kept of events to be judged together (ck_json_lanes.c) */

/* A slice, one end of one, or an end of a flow. Sorted by (lane, begin, longest first, offset). */
struct ck_item {
	int64_t begin_ns, end_ns; /* equal for all but slices */
	int64_t offset;           /* of the event */
	uint32_t lane;
	char phase;
	bool inexact;             /* times had digits below the nanosecond */
	bool next_slice;          /* flow end without bp "e": bound to the slice that follows */
};

struct ck_flow {
	uint64_t key; /* hash of category, name, id */
	int64_t offset;
	char phase;
};

struct ck_lanes {
	MP_VEC(struct ck_item) slices, ends /* B and E */, flow_ends;
	MP_VEC(struct ck_flow) flows; /* in the order of the file */
	struct mp_map64 lanes;        /* hash of (pid, tid) -> number */
};

/* Number of a lane by the texts of its pid and tid; UINT32_MAX when memory is out. */
uint32_t ck_lanes_find(struct ck_lanes *lanes, const char *pid, size_t pid_len, const char *tid, size_t tid_len);
/* Judges all events; complete is false when the file could not be read to its end, so that partners may be missing. */
void ck_lanes_judge(struct ck_lanes *lanes, bool complete, struct mp_faults *faults);
void ck_lanes_release(struct ck_lanes *lanes);

#endif
