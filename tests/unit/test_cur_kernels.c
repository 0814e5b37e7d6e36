/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_details.csv and the copied tables, from exports, links and steps made by hand. Expected values
 * follow sections 5.1, 8.1 and 8.3 of analysis-current.md; how each comes about stands beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <zlib.h>

#include "cur_rank.h"
#include "current/cur_tables.h"
#include "torture.h"

#define SUMMARY "op_summary_20250705072100000.csv"

/* ---- what the links and steps of a run are ---- */

static uint32_t add_launch(const char *name, int64_t ts_ns)
{
	struct cur_host_event event = {.ts_ns = ts_ns, .name = mp_store_string(rank.store, name)};

	assert_true(mp_vec_push(&rank.run.host.events, event));
	return (uint32_t)rank.run.host.events.len - 1;
}

/* A kernel of the timeline and its launch; times in ns. */
static void add_link(const char *kernel, int64_t ts_ns, const char *launch, int64_t launch_ts_ns)
{
	struct cur_device_event event = {.ts_ns = ts_ns, .name = mp_store_string(rank.store, kernel)};
	struct cur_npu_flow flow = {.launch = add_launch(launch, launch_ts_ns),
				    .kernel = (uint32_t)rank.run.device.events.len};

	event.parent = flow.launch;
	assert_true(mp_vec_push(&rank.run.device.events, event));
	assert_true(mp_vec_push(&rank.run.links.npu, flow));
}

static void add_step(const char *id, int64_t begin_ns, int64_t end_ns)
{
	struct cur_step step = {mp_store_string(rank.store, id), begin_ns, end_ns};

	assert_true(mp_vec_push(&rank.run.steps.at, step));
}

/* An Ascend run with a schedule whose models are filled by the test; it has one msprof file. */
static void open_run(uint64_t corrections)
{
	struct cur_device_file file = {0};

	rank_open(&rank, corrections);
	assert_true(rank.run.params.npu && rank.run.params.schedule);
	rank.run.loaded_host = rank.run.loaded_device = rank.run.loaded_links = rank.run.loaded_steps = true;
	assert_true(mp_vec_push(&rank.run.device.files, file));
}

static void expect_details(const char *expected)
{
	rank_expect(&rank, &cur_kernel_details, expected);
}

/* ---- kernel_details.csv ---- */

static const char two_rows[] =
	"Device_id,Model ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)\n"
	"0,7,MatMul_1,MatMul,AI_CORE,1000.500\t,2.5,0\n"
	"0,7,Add_2,Add,AI_VECTOR_CORE,1003.000\t,1,0.5\n";

/* Device_id goes, six columns are renamed, cells stay as they are with their tab, lines end with CR LF. */
static void test_columns(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, two_rows);
	open_run(0);
	expect_details("Model ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\r\n"
		       "7,MatMul_1,MatMul,AI_CORE,1000.500\t,2.5,0\r\n"
		       "7,Add_2,Add,AI_VECTOR_CORE,1003.000\t,1,0.5\r\n");
	assert_int_equal(mp_store_n_notes(rank.store), 0);
}

/*
 * MatMul_1 starts at 1000500 ns and is linked; its launch at 900 us lies in step 3, itself in step 4. Add_2
 * is not linked and starts at 1003 us in step 4.
 */
static void test_launch_and_step(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, two_rows);
	open_run(0);
	add_link("MatMul_1", 1000500, "Kernel::KernelLaunch::Default/fc/MatMul-op0", 900000);
	add_step("3", 800000, 950000);
	add_step("4", 950001, 2000000);
	expect_details(
		"Step ID,Model ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\r\n"
		"3,7,Kernel::KernelLaunch::Default/fc/MatMul-op0/MatMul_1,MatMul,AI_CORE,1000.500\t,2.5,0\r\n"
		"4,7,Add_2,Add,AI_VECTOR_CORE,1003.000\t,1,0.5\r\n");
}

/* The launch lies in no step: the kernel's start decides. Add_2 at 1003 us is in none: an empty id. */
static void test_step_of_kernel(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, two_rows);
	open_run(0);
	add_link("MatMul_1", 1000500, "L", 10);
	add_step("7", 1000500, 1000500); /* both ends belong to it */
	expect_details(
		"Step ID,Model ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\r\n"
		"7,7,L/MatMul_1,MatMul,AI_CORE,1000.500\t,2.5,0\r\n"
		",7,Add_2,Add,AI_VECTOR_CORE,1003.000\t,1,0.5\r\n");
}

static const char no_step_header[] =
	"Model ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\r\n";

static void expect_start(const char *expected)
{
	size_t size;
	char *text = rank_write(&rank, &cur_kernel_details, &size);

	if (strncmp(text, expected, strlen(expected)) != 0)
		fail_msg("'%s' does not begin with '%s'", text, expected);
	free(text);
}

/* The column needs a schedule, steps, and another compilation than O2. */
static void test_no_step_column(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, two_rows);
	open_run(0);
	add_link("MatMul_1", 1000500, "L", 10);
	expect_start(no_step_header);
	add_step("1", 0, 2000000);
	expect_start("Step ID,");
	rank.run.params.o2 = true;
	expect_start(no_step_header);
	rank.run.params.o2 = false;
	rank.run.params.schedule = false;
	expect_start(no_step_header);
}

/* Name and start must both be equal; of two equal ones the last link wins. */
static void test_link_match(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY,
		      "Op Name,Task Start Time(us)\n"
		      "A,1.000\t\n" /* twice in the timeline */
		      "A,1.001\t\n" /* other start */
		      "B,1.000\t\n" /* other name */
		      "C,2.000\n"   /* without a tab */
		      "D,x\t\n"     /* not a time */
		      "E,3.000\t\n"
		      "F,3.000\t\n"); /* with E */
	open_run(0);
	add_link("A", 1000, "first", 1);
	add_link("A", 1000, "last", 2);
	add_link("B", 1001, "never", 3);
	add_link("C", 2000, "bare", 4);
	add_link("D", 0, "never", 5);
	add_link("E", 3000, "one", 6);
	add_link("F", 3000, "other", 7);
	expect_details("Name,Start Time(us)\r\n"
		       "last/A,1.000\t\r\n"
		       "A,1.001\t\r\n"
		       "B,1.000\t\r\n"
		       "bare/C,2.000\r\n"
		       "D,x\t\r\n"
		       "one/E,3.000\t\r\n"
		       "other/F,3.000\t\r\n");
}

/* Line ends of the input are no part of the last cell. */
static void test_line_ends(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, "Op Name,Task Start Time(us)\r\nA,1.000\t\r\nB,2.000\r\n");
	open_run(0);
	add_link("B", 2000, "L", 1);
	expect_details("Name,Start Time(us)\r\nA,1.000\t\r\nL/B,2.000\r\n");
}

/* Python's csv: quotes stay where the cell needs them, go where not; a quote inside a bare cell is doubled.
 */
static void test_quotes(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY,
		      "Op Name,Task Start Time(us),Input Shapes,Last\n"
		      "A,1.000\t,\"\"\"32,64\"\"\",x\n"
		      "\"B\",1.000\t,\"plain\",\"\"\n"
		      "\"C,c\",1.000\t,5\" tube,\"two\nlines\"\r\n"
		      "\n"
		      "D,1.000\t,,\"end\"");
	open_run(0);
	add_link("C,c", 1000, "L", 1);
	expect_details("Name,Start Time(us),Input Shapes,Last\r\n"
		       "A,1.000\t,\"\"\"32,64\"\"\",x\r\n"
		       "B,1.000\t,plain,\r\n"
		       "\"L/C,c\",1.000\t,\"5\"\" tube\",\"two\nlines\"\r\n"
		       "D,1.000\t,,end\r\n");
}

static const char level0_rows[] =
	"Op Name,Task Start Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,"
	"Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,Mix Block Num,aicore_time(us)\n"
	"A,1.000\t,20,0,NO,\"\"\"1,2\"\"\",F,ND,\"\"\"3,4\"\"\",F,ND,N/A,9,1.5\n";

/* Nine columns go at level 0; Mix Block Num, the new name of Mix Block Dim, only as a correction. */
static void test_level0(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, level0_rows);
	open_run(0);
	rank.run.params.level0 = true;
	expect_details("Name,Start Time(us),Block Dim,Mix Block Num,aicore_time(us)\r\n"
		       "A,1.000\t,20,9,1.5\r\n");
	open_run(ALL);
	rank.run.params.level0 = true;
	expect_details("Name,Start Time(us),Block Dim,aicore_time(us)\r\n"
		       "A,1.000\t,20,1.5\r\n");
	open_run(BUT(CUR_FIX_BLOCK_NUM));
	rank.run.params.level0 = true;
	expect_start("Name,Start Time(us),Block Dim,Mix Block Num,aicore_time(us)\r\n");
	open_run(ALL);
	expect_start("Name,Start Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,");
}

/* Slices follow each other by number, not by text: 2 before 10. */
static void test_slices(void **state)
{
	(void)state;
	rank_put_text(&rank, "op_summary_slice_10_20250705072100000.csv",
		      "Op Name,Task Start Time(us)\nC,3.000\t\n");
	rank_put_text(&rank, "op_summary_slice_0_20250705072100000.csv",
		      "Op Name,Task Start Time(us)\nA,1.000\t\n");
	rank_put_text(&rank, "op_summary_slice_2_20250705072100000.csv",
		      "Op Name,Task Start Time(us)\nB,2.000\t\n");
	open_run(0);
	expect_details("Name,Start Time(us)\r\nA,1.000\t\r\nB,2.000\t\r\nC,3.000\t\r\n");
}

/* The second slice has its columns in another order, one more and one less. */
static void test_headers(void **state)
{
	(void)state;
	rank_put_text(&rank, "op_summary_slice_0_1.csv",
		      "Op Name,Task Start Time(us),Block Dim\nA,1.000\t,20\n");
	rank_put_text(&rank, "op_summary_slice_1_1.csv",
		      "Task Start Time(us),Op Name,Block Num\n2.000\t,B,30\n");
	open_run(ALL);
	add_link("B", 2000, "L", 1);
	expect_details("Name,Start Time(us),Block Dim,Block Num\r\n"
		       "A,1.000\t,20,N/A\r\n"
		       "L/B,2.000\t,N/A,30\r\n");
	assert_int_equal(rank_notes(&rank, "op-summary-headers", NULL), 1);
	open_run(BUT(CUR_FIX_HEADERS));
	expect_details("");
}

/* The original loses the file without a timeline, or with two processes of one name in it; we do not. */
static void test_lost(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, two_rows);
	open_run(BUT(CUR_FIX_LOST_OUTPUTS));
	rank.run.device.files.len = 0;
	expect_details("");
	open_run(ALL);
	rank.run.device.files.len = 0;
	expect_start(no_step_header);
	open_run(BUT(CUR_FIX_PROCESS_TWICE));
	rank.run.device.duplicate_process = true;
	expect_details("");
	open_run(ALL);
	rank.run.device.duplicate_process = true;
	expect_start(no_step_header);
}

static void test_wanted(void **state)
{
	(void)state;
	open_run(0);
	assert_true(cur_kernel_details.wanted(&rank.run));
	rank.run.params.level_none = true;
	assert_false(cur_kernel_details.wanted(&rank.run));
	rank.run.params.level_none = rank.run.params.npu = false;
	assert_false(cur_kernel_details.wanted(&rank.run));
	assert_false(cur_op_statistic.wanted(&rank.run));
}

static void test_no_summary(void **state)
{
	(void)state;
	open_run(ALL);
	expect_details("");
	assert_int_equal(rank_notes(&rank, "no-op-summary", NULL), 1);
	assert_int_equal(mp_store_n_notes(rank.store), 1);
}

static void test_missing_columns(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, "Op Name,Task ID\nA,1\n");
	open_run(ALL);
	expect_details("");
	assert_int_equal(rank_notes(&rank, "op-summary-columns", NULL), 1);
	assert_int_equal(mp_store_n_notes(rank.store), 1);
}

/* ---- lies and cuts ---- */

/* An open quote costs its line; a short row has N/A for what it lacks; a long one keeps what has a title. */
static void test_broken_rows(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY,
		      "Op Name,Task Start Time(us),T\n"
		      "A,1.000\t\n"
		      "B,2.000\t,1,2,3\n"
		      "C,\"3.000\t,1\n"
		      "D,4.000\t,1\n");
	open_run(ALL);
	expect_details("Name,Start Time(us),T\r\n"
		       "A,1.000\t,N/A\r\n"
		       "B,2.000\t,1\r\n"
		       "D,4.000\t,1\r\n");
	assert_int_equal(rank_notes(&rank, "bad-csv", NULL), 1);
	assert_int_equal(mp_store_n_notes(rank.store), 1);
}

/* NUL bytes are text like any other. */
static void test_nul(void **state)
{
	static const char rows[] = "Op Name,Task Start Time(us)\nA\0B,1.000\t\n\0,\0\n";
	static const char expected[] = "Name,Start Time(us)\r\nA\0B,1.000\t\r\n\0,\0\r\n";
	size_t size;
	char *text;

	(void)state;
	rank_put(&rank, SUMMARY, rows, sizeof(rows) - 1);
	open_run(ALL);
	text = rank_write(&rank, &cur_kernel_details, &size);
	assert_int_equal(size, sizeof(expected) - 1);
	assert_memory_equal(text, expected, size);
	free(text);
}

static void test_empty_files(void **state)
{
	static const char *const texts[] = {"", "\n", "\r\n\r\n", "\xef\xbb\xbf", "\"", ",,,\n"};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(texts); i++) {
		rank_put_text(&rank, SUMMARY, texts[i]);
		open_run(ALL);
		expect_details("");
		assert_true(mp_store_n_notes(rank.store) >= 1);
	}
}

/* A million columns, in the header or in a row. */
static void test_many_columns(void **state)
{
	enum { COLUMNS = 1000000 };
	static const char head[] = "Op Name,Task Start Time(us)";
	char *rows = malloc(sizeof(head) + COLUMNS + 32);
	size_t len = sizeof(head) - 1;

	(void)state;
	assert_non_null(rows);
	memcpy(rows, head, len);
	memset(rows + len, ',', COLUMNS);
	len += COLUMNS;
	len += (size_t)sprintf(rows + len, "\nA,1.000\t\n");
	rank_put(&rank, SUMMARY, rows, len);
	open_run(ALL);
	expect_start("Name,Start Time(us)");
	len = (size_t)sprintf(rows, "%s\nA,1.000\t", head);
	memset(rows + len, ',', COLUMNS);
	len += COLUMNS;
	len += (size_t)sprintf(rows + len, "\nB,2.000\t\n");
	rank_put(&rank, SUMMARY, rows, len);
	open_run(ALL);
	expect_details("Name,Start Time(us)\r\nA,1.000\t\r\nB,2.000\t\r\n");
	free(rows);
}

/*
 * Cut at every byte: no more than the last line suffers, so what is written begins with the lines of the
 * whole file whose rows are complete. (Cut inside quotes, the last line is noted and left out.)
 */
static void test_cuts(void **state)
{
	static const char rows[] = "Op Name,Task Start Time(us),Input Shapes\n"
				   "A,1.000\t,\"\"\"1,2\"\"\"\n"
				   "B,2.000\t,\"3,4\"\n";
	static const char header[] = "Name,Start Time(us),Input Shapes\r\n";
	static const char first[] = "Name,Start Time(us),Input Shapes\r\nA,1.000\t,\"\"\"1,2\"\"\"\r\n";
	const char *first_row = strchr(rows, '\n') + 1, *second_row = strchr(first_row, '\n') + 1;
	size_t cut, size;

	(void)state;
	for (cut = 0; cut < sizeof(rows); cut++) {
		const char *expected = cut >= (size_t)(second_row - rows)  ? first
				       : cut >= (size_t)(first_row - rows) ? header
									   : "";
		char *text;

		rank_put(&rank, SUMMARY, rows, cut);
		open_run(ALL);
		text = rank_write(&rank, &cur_kernel_details, &size);
		if (strncmp(text, expected, strlen(expected)) != 0)
			fail_msg("cut at %zu: '%s' does not begin with '%s'", cut, text, expected);
		if (cut == sizeof(rows) - 3) /* before the closing quote of the last row */
			assert_int_equal(rank_notes(&rank, "bad-csv", NULL), 1);
		/* One note wherever the cut can be seen: not between rows. */
		if (mp_store_n_notes(rank.store) != (!cut || rows[cut - 1] != '\n' || cut == sizeof(rows)))
			fail_msg("cut at %zu: %zu notes", cut, mp_store_n_notes(rank.store));
		free(text);
	}
}

static mp_status write_once(void *user)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	const struct cur_output *output = user;
	struct mp_out out;
	mp_status status = mp_out_open_fd(fd, "output", &out, NULL);

	if (!status) {
		status = output->write(&rank.run, &out, NULL);
		if (!status)
			status = mp_out_commit(&out, NULL);
		else
			mp_out_abort(&out);
	}
	close(fd);
	return status;
}

static void test_no_memory(void **state)
{
	(void)state;
	rank_put_text(&rank, "op_summary_slice_0_1.csv",
		      "Op Name,Task Start Time(us),T\nA,1.000\t,\"5\"\" x\"\n");
	rank_put_text(&rank, "op_summary_slice_1_1.csv", "Op Name,Task Start Time(us),T\nB,2.000\t,1\n");
	open_run(ALL);
	add_link("A", 1000, "L", 1);
	add_step("1", 0, 2000);
	assert_true(torture(write_once, (void *)(uintptr_t)&cur_kernel_details) > 5);
}

/* No kernel is linked to a launch: the original gives no kernel a step. Add_2 at 1003 us is in no step. */
static void test_step_without_launch(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, two_rows);
	open_run(BUT(CUR_FIX_KERNEL_STEP));
	add_step("4", 1000000, 1002999);
	expect_details(
		"Step ID,Model ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\r\n"
		",7,MatMul_1,MatMul,AI_CORE,1000.500\t,2.5,0\r\n"
		",7,Add_2,Add,AI_VECTOR_CORE,1003.000\t,1,0.5\r\n");
	open_run(ALL);
	add_step("4", 1000000, 1002999);
	expect_details(
		"Step ID,Model ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\r\n"
		"4,7,MatMul_1,MatMul,AI_CORE,1000.500\t,2.5,0\r\n"
		",7,Add_2,Add,AI_VECTOR_CORE,1003.000\t,1,0.5\r\n");
}

/* As the original has it, a time that was a number is never the text of op_summary: no launch, the kernel's
 * step. */
static void test_binary_ts(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, two_rows);
	open_run(0);
	add_link("MatMul_1", 1000500, "L", 10);
	rank.run.device.events.at[0].binary_ts = true;
	add_step("4", 1000000, 1002999);
	expect_details(
		"Step ID,Model ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\r\n"
		"4,7,MatMul_1,MatMul,AI_CORE,1000.500\t,2.5,0\r\n"
		",7,Add_2,Add,AI_VECTOR_CORE,1003.000\t,1,0.5\r\n");
}

/*
 * 300 columns c0 to c299, the known ones at both ends and Task Duration(us) in the middle: the known ones and
 * 256 others are kept, 44 are left out and told. Rows are read to their last known cell, with quotes and
 * without.
 */
static void test_too_many_columns(void **state)
{
	struct mp_buf in, expected;
	int i, row;

	(void)state;
	mp_buf_init(&in, SIZE_MAX / 8);
	mp_buf_init(&expected, SIZE_MAX / 8);
	mp_buf_add_str(&in, "Device_id");
	for (i = 0; i < 300; i++)
		mp_buf_printf(&in, "%s,c%d", i == 270 ? ",Task Duration(us)" : "", i);
	mp_buf_add_str(&in, ",Op Name,Task Start Time(us)\n");
	for (i = 0; i < 256; i++)
		mp_buf_printf(&expected, "%sc%d", i ? "," : "", i);
	mp_buf_add_str(&expected, ",Duration(us),Name,Start Time(us)\r\n");
	for (row = 0; row < 2; row++) {
		mp_buf_add_str(&in, "0");
		for (i = 0; i < 300; i++)
			mp_buf_printf(&in, "%s,%d", i == 270 ? row ? ",\"d\"" : ",d" : "", i);
		mp_buf_add_str(&in, ",n,5.000\n");
		for (i = 0; i < 256; i++)
			mp_buf_printf(&expected, "%s%d", i ? "," : "", i);
		mp_buf_add_str(&expected, ",d,n,5.000\r\n");
	}
	rank_put(&rank, SUMMARY, in.data, in.len);
	open_run(ALL);
	expect_details(expected.data);
	assert_int_equal(rank_notes(&rank, "too-many-columns", NULL), 1);
	assert_int_equal(mp_store_n_notes(rank.store), 1);
	mp_buf_release(&in);
	mp_buf_release(&expected);
}

/* A title twice: the last one counts; the original loses the file. */
static void test_title_twice(void **state)
{
	(void)state;
	rank_put_text(&rank, SUMMARY, "Op Name,T,Task Start Time(us),T\nA,1,5.000,2\n");
	open_run(ALL);
	expect_details("Name,T,Start Time(us)\r\nA,2,5.000\r\n");
	assert_int_equal(rank_notes(&rank, "op-summary-title-twice", NULL), 1);
	open_run(BUT(CUR_FIX_HEADERS));
	expect_details("");
}

/* ---- copied tables ---- */

/* Packs with gzip and drops the last bytes. */
static void put_cut_gzip(const char *name, const char *text, size_t drop)
{
	uint8_t packed[512];
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.avail_in = (uInt)strlen(text);
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	rank_put(&rank, name, (char *)packed, z.total_out - drop);
	deflateEnd(&z);
}

/* Without its trailer of 8 bytes all of a packed file can be unpacked, but nothing says that it is right. */
static void test_packed_damage(void **state)
{
	(void)state;
	put_cut_gzip("hbm_1.csv", "a,b\n1,2\n", 0);
	put_cut_gzip("nic_1.csv", "a,b\n1,2\n", 8);
	put_cut_gzip(SUMMARY, "Op Name,Task Start Time(us)\nA,5.000\n", 8);
	open_run(ALL);
	rank_expect(&rank, &cur_hbm, "a,b\n1,2\n");
	assert_int_equal(mp_store_n_notes(rank.store), 0);
	rank_expect(&rank, &cur_nic, "a,b\n1,2\n");
	assert_int_equal(mp_store_n_notes(rank.store), 1);
	assert_int_equal(rank_notes(&rank, "truncated", NULL), 1);
	expect_details("Name,Start Time(us)\r\nA,5.000\r\n");
	assert_int_equal(mp_store_n_notes(rank.store), 2);
	assert_int_equal(rank_notes(&rank, "truncated", NULL), 2);
}

/* A slice that ends inside a row does not run into the next one; one of other columns is left out. */
static void test_copy_odd_slices(void **state)
{
	(void)state;
	rank_put_text(&rank, "hbm_slice_0_1.csv", "a,b\n1,2\n3");
	rank_put_text(&rank, "hbm_slice_1_1.csv", "b,a\n5,6\n");
	rank_put_text(&rank, "hbm_slice_2_1.csv", "a,b\n7,8\n");
	open_run(ALL);
	rank_expect(&rank, &cur_hbm, "a,b\n1,2\n3\n7,8\n");
	assert_int_equal(rank_notes(&rank, "truncated", NULL), 1);
	assert_int_equal(rank_notes(&rank, "other-columns", NULL), 1);
	assert_int_equal(mp_store_n_notes(rank.store), 2);
}

/* Cut at every byte: the bytes that are there, and one note unless the cut is between rows. */
static void test_copy_cuts(void **state)
{
	static const char rows[] = "a,b\n1,\"2\"\"\"\n3,4\n";
	char expected[sizeof(rows)];
	size_t cut;

	(void)state;
	for (cut = 0; cut < sizeof(rows); cut++) {
		rank_put(&rank, "api_statistic_1.csv", rows, cut);
		snprintf(expected, cut + 1, "%s", rows);
		open_run(ALL);
		rank_expect(&rank, &cur_api_statistic, expected);
		if (mp_store_n_notes(rank.store) != (!cut || rows[cut - 1] != '\n'))
			fail_msg("cut at %zu: %zu notes", cut, mp_store_n_notes(rank.store));
		if (cut == sizeof(rows) - 1)
			break; /* behind it is the NUL */
	}
}

/* Bytes as they are: line ends, quotes, no line end at the end. */
static void test_copies(void **state)
{
	static const struct {
		const char *file;
		const struct cur_output *output;
	} copies[] = {
		{"op_statistic_1.csv", &cur_op_statistic},
		{"api_statistic_1.csv", &cur_api_statistic},
		{"static_op_mem_1.csv", &cur_static_op_mem},
		{"l2_cache_1.csv", &cur_l2_cache},
		{"hbm_1.csv", &cur_hbm},
		{"pcie_1.csv", &cur_pcie},
		{"hccs_1.csv", &cur_hccs},
		{"nic_1.csv", &cur_nic},
		{"roce_1.csv", &cur_roce},
		{"aicpu_1.csv", &cur_data_preprocess},
	};
	char text[64];
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(copies); i++) {
		snprintf(text, sizeof(text), "Device_id,\"%s\"\r\n0,\"x\"\n\n1,2", copies[i].file);
		rank_put_text(&rank, copies[i].file, text);
	}
	open_run(0);
	for (i = 0; i < MP_COUNT(copies); i++) {
		snprintf(text, sizeof(text), "Device_id,\"%s\"\r\n0,\"x\"\n\n1,2", copies[i].file);
		rank_expect(&rank, copies[i].output, text);
	}
	/* Their last cell may be cut, which is told of each. */
	assert_int_equal(mp_store_n_notes(rank.store), MP_COUNT(copies));
	assert_int_equal(rank_notes(&rank, "truncated", NULL), MP_COUNT(copies));
}

static void test_copy_absent(void **state)
{
	(void)state;
	rank_put_text(&rank, "aicpu_mi_1.csv", "not of the operators\n"); /* no digit behind aicpu_ */
	rank_put_text(&rank, "hbm.csv", "no stamp\n");
	open_run(ALL);
	rank_expect(&rank, &cur_data_preprocess, "");
	rank_expect(&rank, &cur_hbm, "");
	rank_expect(&rank, &cur_nic, "");
}

/* Of two exports the original takes any; we take the newest by its stamp. */
static void test_copy_newest(void **state)
{
	(void)state;
	rank_put_text(&rank, "hbm_20250705072100000.csv", "old\n");
	rank_put_text(&rank, "hbm_20250706072100000.csv", "new\n");
	open_run(ALL);
	rank_expect(&rank, &cur_hbm, "new\n");
	assert_int_equal(rank_notes(&rank, "several-files", NULL), 1);
	open_run(BUT(CUR_FIX_NEWEST_FILE));
	rank_expect(&rank, &cur_hbm, "old\n");
}

/* Slices are one table under the header of the first, in the order of their numbers. */
static void test_copy_slices(void **state)
{
	(void)state;
	rank_put_text(&rank, "l2_cache_slice_0_1.csv", "Stream Id,Task Id\n1,1\n");
	rank_put_text(&rank, "l2_cache_slice_10_1.csv", "Stream Id,Task Id\n3,3\n");
	rank_put_text(&rank, "l2_cache_slice_2_1.csv", "Stream Id,Task Id\n2,2\n");
	open_run(ALL);
	rank_expect(&rank, &cur_l2_cache, "Stream Id,Task Id\n1,1\n2,2\n3,3\n");
	open_run(0);
	rank_expect(&rank, &cur_l2_cache, "Stream Id,Task Id\n1,1\n");
}

static void test_copy_empty(void **state)
{
	(void)state;
	rank_put_text(&rank, "nic_1.csv", "");
	open_run(ALL);
	rank_expect(&rank, &cur_nic, "");
	assert_int_equal(rank_notes(&rank, "truncated", NULL), 1);
}

static void test_copy_no_memory(void **state)
{
	(void)state;
	rank_put_text(&rank, "l2_cache_slice_0_1.csv", "Stream Id,Task Id\n1,1\n");
	rank_put_text(&rank, "l2_cache_slice_1_1.csv", "Stream Id,Task Id\n2,2\n");
	open_run(ALL);
	assert_true(torture(write_once, (void *)(uintptr_t)&cur_l2_cache) > 3);
}

/* ---- kernel_shapes ---- */

/* MatMul of one shape twice: 1.5 + 2.5 us; the other shape once; N/A is not known. Quotes belong to the
 * export. */
static void test_kernel_shapes(void **state)
{
	static const char *const expected[][4] = {{"MatMul_1", "MatMul", "AI_CORE", "8,64;10,64"},
						  {"MatMul_1", "MatMul", "AI_CORE", "4"},
						  {"Add", "Add", "AI_VECTOR_CORE", NULL}};
	static const int64_t numbers[][5] = {
		{2, 4000, 1500, 2000, 2500}, {1, 3000, 3000, 3000, 3000}, {1, 100, 100, 100, 100}};
	struct mp_table table;
	mp_err err = {0};
	size_t r, c;

	(void)state;
	rank_put_text(&rank, SUMMARY,
		      "Op Name,OP Type,Task Type,Task Duration(us),Input Shapes\n"
		      "MatMul_1,MatMul,AI_CORE,1.5,\"\"\"8,64;10,64\"\"\"\n"
		      "MatMul_1,MatMul,AI_CORE,3,4\n"
		      "Add,Add,AI_VECTOR_CORE,0.1,N/A\n"
		      "MatMul_1,MatMul,AI_CORE,2.500,\"\"\"8,64;10,64\"\"\"\n"
		      "MatMul_1,MatMul,AI_CORE,x,4\n");
	rank_open(&rank, ALL);
	mp_table_init(&table, cur_table_kernel_shapes.shape);
	rank_good(cur_table_kernel_shapes.fill(&rank.run, &table, &err), &err);
	assert_int_equal(table.n_rows, 3);
	for (r = 0; r < 3; r++) {
		const struct mp_value *row = mp_table_row(&table, r);

		for (c = 0; c < 4; c++) {
			assert_int_equal(row[c].missing, expected[r][c] == NULL);
			if (expected[r][c])
				assert_string_equal(row[c].s.text, expected[r][c]);
		}
		for (c = 0; c < 5; c++)
			assert_int_equal(row[4 + c].i, numbers[r][c]);
	}
	mp_table_release(&table);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_columns),
		TEST(test_launch_and_step),
		TEST(test_step_of_kernel),
		TEST(test_no_step_column),
		TEST(test_link_match),
		TEST(test_line_ends),
		TEST(test_quotes),
		TEST(test_level0),
		TEST(test_slices),
		TEST(test_headers),
		TEST(test_lost),
		TEST(test_wanted),
		TEST(test_no_summary),
		TEST(test_missing_columns),
		TEST(test_broken_rows),
		TEST(test_nul),
		TEST(test_empty_files),
		TEST(test_many_columns),
		TEST(test_cuts),
		TEST(test_no_memory),
		TEST(test_step_without_launch),
		TEST(test_binary_ts),
		TEST(test_too_many_columns),
		TEST(test_title_twice),
		TEST(test_packed_damage),
		TEST(test_copy_odd_slices),
		TEST(test_copy_cuts),
		TEST(test_copies),
		TEST(test_copy_absent),
		TEST(test_copy_newest),
		TEST(test_copy_slices),
		TEST(test_copy_empty),
		TEST(test_copy_no_memory),
		TEST(test_kernel_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
