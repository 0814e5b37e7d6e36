/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a directory by pattern, slices in the order of their numbers: op_summary_slice_10 comes after
 * op_summary_slice_9 (analysis-current.md section 5.1).
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "current/cur.h"

#include "base/banned.h"

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

mp_status cur_files_find(const struct mp_dir *dir, const char *pattern, struct cur_file_list *out,
			 mp_err *err)
{
	struct mp_dir_entry *entries = NULL;
	mp_status status = MINDPROF_OK;
	size_t n = 0, i;

	*out = (struct cur_file_list){0};
	if (dir->fd < 0)
		return MINDPROF_OK;
	MP_TRY(mp_dir_list(dir, &entries, &n, err));
	for (i = 0; i < n && !status; i++) {
		char *name;

		if (!entries[i].is_file || fnmatch(pattern, entries[i].name, FNM_PERIOD) != 0)
			continue;
		name = mp_strdup(entries[i].name);
		if (!name || !mp_vec_push(&out->names, name)) {
			mp_free(name);
			status = mp_err_nomem(err, sizeof(entries[i].name));
		}
	}
	mp_free(entries);
	if (status)
		cur_files_release(out);
	else if (out->names.len)
		qsort(out->names.at, out->names.len, sizeof(*out->names.at), compare_names);
	return status;
}

void cur_files_release(struct cur_file_list *list)
{
	size_t i;

	for (i = 0; i < list->names.len; i++)
		mp_free(list->names.at[i]);
	mp_vec_release(&list->names);
}

static void note_unreadable(struct cur_run *run, const char *path, const mp_err *failure)
{
	mp_store_note(run->store, MP_PROBLEM, "unreadable", path, -1, "%s",
		      failure->n_causes ? failure->causes[0].text : "cannot be read");
}

void cur_note_damage(struct cur_run *run, const struct mp_input *input)
{
	bool cut = input->damage == MINDPROF_E_TRUNCATED;

	if (input->damage)
		mp_store_note(run->store, MP_PROBLEM, cut ? "truncated" : "damaged", input->file.path,
			      input->damage_offset, "packed file is %s, the rest is missing",
			      cut ? "cut off" : "damaged");
}

mp_status cur_go_on_without(struct cur_run *run, const char *path, mp_status status, const mp_err *failure,
			    mp_err *err)
{
	if (status == MINDPROF_E_NOMEM)
		return mp_err_nomem(err, 0);
	note_unreadable(run, path, failure);
	return MINDPROF_OK;
}
