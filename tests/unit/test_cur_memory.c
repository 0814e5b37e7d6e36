/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator_memory.csv, operator_details.csv, memory_record.csv and npu_module_mem.csv from inputs made by
 * hand. Expected values follow sections 8.6 to 8.8 of analysis-current.md; how each comes about stands beside
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "cur_rank.h"

#define RELEASE UINT64_MAX

static struct mp_buf file; /* of records, being made */

static int make_all(void **state)
{
	static const char info[] =
		"{\"profiler_parameters\": {\"is_set_schedule\": true, \"activities\": [\"CPU\", \"NPU\"],"
		" \"profile_memory\": true, \"record_shapes\": true, \"export_type\": [\"text\"]},"
		" \"ms_profiler_info\": {\"rank_id\": \"0\", \"device_id\": \"0\"}}";
	char path[1024];

	make(state);
	snprintf(path, sizeof(path), "%s/FRAMEWORK", rank.path);
	assert_int_equal(mkdir(path, 0750), 0);
	rank_put_at(&rank, "profiler_info_0.json", info, sizeof(info) - 1);
	mp_buf_init(&file, SIZE_MAX);
	return 0;
}

static int drop_all(void **state)
{
	mp_buf_release(&file);
	return drop(state);
}

static void add_head(uint16_t type, uint32_t len)
{
	mp_buf_add(&file, &type, 2);
	mp_buf_add(&file, &len, 4);
}

/* One record of memory_usage: 100 fixed bytes, then the owner (type 13). */
static void add_event(int64_t ns, uint64_t address, uint64_t size, uint64_t used, const char *owner)
{
	int32_t device = 0;
	uint64_t numbers[] = {1, 2, (uint64_t)ns, address, size, used, 0, 2 * used, 0, 0, 7};
	uint8_t rest[8] = {0};

	add_head(13, (uint32_t)(100 + 6 + strlen(owner)));
	mp_buf_add(&file, &device, 4);
	mp_buf_add(&file, numbers, sizeof(numbers));
	mp_buf_add(&file, rest, 8);
	add_head(13, (uint32_t)strlen(owner));
	mp_buf_add_str(&file, owner);
}

static void put_usage(void)
{
	rank_put_at(&rank, "FRAMEWORK/mindspore.memory_usage", file.data, file.len);
}

#define HEADER                                                                                                   \
	"Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active "        \
	"Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB)," \
	"Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n"

/* ---- operator_memory ---- */

/*
 * 1 MiB of 2 MiB in use at 1.5 us, released at 3.25 us: 1.75 us, then 0.5 MiB. Reserved is twice what is
 * used. The unit of sizes is 1024.
 */
static void test_a_pair(void **state)
{
	(void)state;
	add_event(1500, 64, 1 << 20, 2 << 20, "Default/Add");
	add_event(3250, 64, RELEASE, 1 << 19, "");
	put_usage();
	rank_open(&rank, ALL);
	rank_expect(&rank, &cur_operator_memory_csv,
		    HEADER
		    "Default/Add,1024.0,1.500,3.250,N/A,1.750,N/A,2.0,4.0,2.0,0.5,1.0,0.5,7,NPU:0\r\n");
	rank_open(&rank, BUT(CUR_FIX_MEMORY_DECIMALS));
	rank_expect(&rank, &cur_operator_memory_csv,
		    HEADER "Default/Add,1024.0,1.5,3.25,N/A,1.75,N/A,2.0,4.0,2.0,0.5,1.0,0.5,7,NPU:0\r\n");
}

/*
 * At 1.7e15 us doubles are 0.25 us apart. 1719800000861425548 ns = ...425.548 us is nearest to .5, but as a
 * double of ns (256 apart) it would be ...425.8; likewise ...642.63 is nearest to .75, printed .8. The
 * duration is the difference of integers: -161782918 ns.
 */
static void test_decimals(void **state)
{
	(void)state;
	add_event(1719800000699642630, 64, 1024, 0, "a");
	add_event(1719800000861425548, 64, RELEASE, 0, "");
	put_usage();
	rank_open(&rank, BUT(CUR_FIX_MEMORY_DECIMALS));
	rank_expect(
		&rank, &cur_operator_memory_csv,
		HEADER
		"a,1.0,1719800000699642.8,1719800000861425.5,N/A,161782.918,N/A,0.0,0.0,0.0,0.0,0.0,0.0,7,NPU:0\r\n");
	rank_open(&rank, ALL);
	rank_expect(
		&rank, &cur_operator_memory_csv,
		HEADER
		"a,1.0,1719800000699642.630,1719800000861425.548,N/A,161782.918,N/A,0.0,0.0,0.0,0.0,0.0,0.0,7,NPU:0\r\n");
}

#define ROW(name, begin, end, dur, rest) \
	name ",1.0," begin "," end ",N/A," dur ",N/A,0.0,0.0,0.0," rest ",7,NPU:0\r\n"
#define FREED "0.0,0.0,0.0"
#define KEPT "N/A,N/A,N/A"

/* alloc, free, free, alloc, free at 1 to 5 us: a 1..2 and b 4..5; the original takes the free of 3 for b: -1.
 */
static void test_stray_release(void **state)
{
	(void)state;
	add_event(1000, 64, 1024, 0, "a");
	add_event(2000, 64, RELEASE, 0, "");
	add_event(3000, 64, RELEASE, 0, "");
	add_event(4000, 64, 1024, 0, "b");
	add_event(5000, 64, RELEASE, 0, "");
	put_usage();
	rank_open(&rank, ALL);
	rank_expect(&rank, &cur_operator_memory_csv,
		    HEADER ROW("a", "1.000", "2.000", "1.000", FREED)
			    ROW("b", "4.000", "5.000", "1.000", FREED));
	assert_int_equal(rank_notes(&rank, "stray-release", NULL), 1);
	rank_open(&rank, BUT(CUR_FIX_MEMORY_PAIRS));
	rank_expect(&rank, &cur_operator_memory_csv,
		    HEADER ROW("a", "1.000", "2.000", "1.000", FREED)
			    ROW("b", "4.000", "3.000", "-1.000", FREED));
}

/* Two releases before the first allocation: the original skips the first one only and pairs the second: 3
 * - 4. */
static void test_leading_releases(void **state)
{
	(void)state;
	add_event(1000, 64, RELEASE, 0, "");
	add_event(3000, 64, RELEASE, 0, "");
	add_event(4000, 64, 1024, 0, "b");
	add_event(6000, 64, RELEASE, 0, "");
	put_usage();
	rank_open(&rank, ALL);
	rank_expect(&rank, &cur_operator_memory_csv, HEADER ROW("b", "4.000", "6.000", "2.000", FREED));
	rank_open(&rank, BUT(CUR_FIX_MEMORY_PAIRS));
	rank_expect(&rank, &cur_operator_memory_csv, HEADER ROW("b", "4.000", "3.000", "-1.000", FREED));
}

/* Two allocations at one address: the first was never released. The original forgets it. */
static void test_double_allocation(void **state)
{
	(void)state;
	add_event(1000, 64, 1024, 0, "a");
	add_event(2000, 64, 1024, 0, "b");
	add_event(3000, 64, RELEASE, 0, "");
	put_usage();
	rank_open(&rank, ALL);
	rank_expect(&rank, &cur_operator_memory_csv,
		    HEADER ROW("a", "1.000", "N/A", "N/A", KEPT) ROW("b", "2.000", "3.000", "1.000", FREED));
	rank_open(&rank, BUT(CUR_FIX_MEMORY_PAIRS));
	rank_expect(&rank, &cur_operator_memory_csv, HEADER ROW("b", "2.000", "3.000", "1.000", FREED));
}

/* Out of order in the file; 100 ns apart at 1.7e15 us is one double: the original keeps the order of
 * addresses. */
static void test_order_of_rows(void **state)
{
	(void)state;
	add_event(1719800000000000060, 64, 1024, 0, "first address");
	add_event(1719800000000000000, 128, 1024, 0, "earlier");
	put_usage();
	rank_open(&rank, ALL);
	rank_expect(&rank, &cur_operator_memory_csv,
		    HEADER ROW("earlier", "1719800000000000.000", "N/A", "N/A", KEPT)
			    ROW("first address", "1719800000000000.060", "N/A", "N/A", KEPT));
	/* addresses by time of their first event, too, so "earlier" stays first there */
	rank_open(&rank, BUT(CUR_FIX_MEMORY_DECIMALS));
	rank_expect(&rank, &cur_operator_memory_csv,
		    HEADER ROW("earlier", "1719800000000000.0", "N/A", "N/A", KEPT)
			    ROW("first address", "1719800000000000.0", "N/A", "N/A", KEPT));
}

/*
 * a holds 1000 from 1 to 4 us, b 500 from 2, c 700 from 4 on (in the place of a), b again 100 from 3 to 5: at
 * 3 us 1600 are held, at 4 us 1300.
 */
static void test_peak(void **state)
{
	char found[512];

	(void)state;
	add_event(1000, 64, 1000, 0, "a");
	add_event(2000, 128, 500, 0, "b");
	add_event(3000, 256, 100, 0, "b");
	add_event(4000, 64, RELEASE, 0, "");
	add_event(4000, 512, 700, 0, "c");
	add_event(5000, 256, RELEASE, 0, "");
	put_usage();
	rank_open(&rank, ALL);
	assert_string_equal(rank_table(&rank, &cur_table_device_memory, found, sizeof(found)),
			    "a|0|1|1000|0.625|-\nb|0|2|600|0.375|-\n");
}

/* What is released at the moment of another allocation does not count with it: 1000, not 1700. */
static void test_peak_of_a_handover(void **state)
{
	char found[512];

	(void)state;
	add_event(1000, 64, 1000, 0, "a");
	add_event(4000, 512, 700, 0, "");
	add_event(4000, 64, RELEASE, 0, "");
	put_usage();
	rank_open(&rank, ALL);
	assert_string_equal(rank_table(&rank, &cur_table_device_memory, found, sizeof(found)),
			    "a|0|1|1000|1|-\n");
}

/* ---- memory_record ---- */

static void put_pools(const char *name)
{
	static const char text[] =
		"Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)\n"
		"1719800000000123000,1048576,2097152,1048576\n";

	rank_put_at(&rank, name, text, sizeof(text) - 1);
}

/* Bytes / 1024 / 1000: 1.024; the sum of both pools from the second record on: 1.024 + 0.1, 2.048 + 0.2. */
static void test_memory_record(void **state)
{
	(void)state;
	put_pools("FRAMEWORK/cpu_ms_memory_record_0.txt");
	rank_put_text(&rank, "memory_record_2025.csv",
		      "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n"
		      "0,GE,1719800000000200.000\t,100,200,NPU:0\n");
	rank_put_text(
		&rank, "npu_mem_2025.csv",
		"Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n0,APP,0,0,3072,1719800000000150.5\t\n"
		"0,Device,0,0,1,1.5\n");
	rank_open(&rank, ALL);
	rank_expect(
		&rank, &cur_memory_record,
		"Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device Type\r\n"
		"MindSpore,1719800000000123,1.024,2.048,1.024,NPU:0\r\n"
		"MindSpore+GE,1719800000000123,1.024,2.048,1.024,NPU:0\r\n"
		"GE,1719800000000200.000\t,0.1,0.2,0.0,NPU:0\r\n"
		"MindSpore+GE,1719800000000200.000,1.124,2.248,1.024,NPU:0\r\n"
		"APP,1719800000000150.5,0.0,3.072,0.0,NPU:0\r\n");
}

static void test_memory_of_another_rank(void **state)
{
	size_t size;
	char *text;

	(void)state;
	put_pools("FRAMEWORK/cpu_ms_memory_record_3.txt");
	rank_put_text(&rank, "memory_record_2025.csv",
		      "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n"
		      "0,GE,5.000\t,100,200,NPU:0\n");
	rank_open(&rank, ALL);
	text = rank_write(&rank, &cur_memory_record, &size);
	assert_null(strstr(text, "\r\nMindSpore,"));
	assert_non_null(strstr(text, "\r\nGE,5.000"));
	free(text);
	assert_int_equal(rank_notes(&rank, "memory-of-other-rank", NULL), 1);
	assert_int_equal(rank_notes(&rank, "no-memory-record", NULL), 1);
}

/* ---- damage ---- */

static const struct cur_output *const outputs[] = {&cur_operator_memory_csv, &cur_operator_details,
						   &cur_memory_record, &cur_npu_module_mem};

static void write_all(uint64_t corrections)
{
	size_t i, size;

	rank_open(&rank, corrections);
	for (i = 0; i < MP_COUNT(outputs); i++)
		free(rank_write(&rank, outputs[i], &size));
}

static void test_truncated_records(void **state)
{
	size_t cut, first, second;

	(void)state;
	add_event(1000, 64, 1024, 0, "Default/network/Add-op0");
	first = file.len;
	add_event(2000, 64, RELEASE, 0, "");
	second = file.len;
	add_event(3000, 64, 1024, 0, "b");
	for (cut = 1; cut < file.len; cut += 2) {
		rank_put_at(&rank, "FRAMEWORK/mindspore.memory_usage", file.data, cut);
		rank_put_at(&rank, "FRAMEWORK/mindspore.record_shapes", file.data, cut);
		write_all(cut % 4 == 1 ? ALL : BUT(CUR_FIX_MEMORY_PAIRS));
		assert_int_equal(rank_notes(&rank, "truncated", NULL), cut == first || cut == second ? 0 : 2);
	}
}

static void test_record_lies(void **state)
{
	static const uint32_t lengths[] = {0, 1, 99, 100, 105, 106, 0x7fffffff, 0xffffffff};
	static const uint64_t numbers[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
	char table[1024];
	size_t i, k;

	(void)state;
	for (i = 0; i < MP_COUNT(lengths); i++) {
		file.len = 0;
		add_event(1000, 64, 1024, 0, "a\xff\"\n,");
		add_head(13, lengths[i]);
		add_event(2000, 64, 2048, UINT64_MAX, "");
		put_usage();
		rank_put_at(&rank, "FRAMEWORK/mindspore.record_shapes", file.data, file.len);
		write_all(ALL);
	}
	for (i = 0; i < MP_COUNT(numbers); i++)
		for (k = 0; k < MP_COUNT(numbers); k++) {
			file.len = 0;
			add_event((int64_t)numbers[i], numbers[k], 1024, numbers[k], "a");
			add_event((int64_t)numbers[k], numbers[k], RELEASE, 0, "");
			put_usage();
			write_all(ALL);
			rank_table(&rank, &cur_table_device_memory, table, sizeof(table));
			write_all(0);
		}
}

static void test_text_lies(void **state)
{
	static const char *const lies[] = {
		"",
		"\n",
		"x",
		"Timestamp(ns)\n1\n",
		("Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)\n,,,\n"
		 "-9223372036854775808,1e400,nan,-1\n9223372036854775808,1,1,1\nx\n\""),
		"Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n0,GE,1e300,nan,inf,\"\n",
		"Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n0,APP,0,0,x,\xff\n0,APP,0,0,-1e308,9223372036854775807999\n",
		"a,b\n\"1\"\"\",2,3,4\n,,,,,,,,,,\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < MP_COUNT(lies); i++) {
		rank_put_at(&rank, "FRAMEWORK/cpu_ms_memory_record_0.txt", lies[i], strlen(lies[i]));
		rank_put_text(&rank, "memory_record_2025.csv", lies[i]);
		rank_put_text(&rank, "npu_mem_2025.csv", lies[i]);
		rank_put_text(&rank, "npu_module_mem_2025.csv", lies[i]);
		write_all(ALL);
		write_all(0);
	}
}

static void test_out_of_memory(void **state)
{
	size_t i;

	(void)state;
	add_event(3000, 64, 1024, 0, "a");
	add_event(2000, 128, 1024, 0, "b");
	add_event(4000, 64, RELEASE, 0, "");
	put_usage();
	put_pools("FRAMEWORK/cpu_ms_memory_record_0.txt");
	rank_put_text(&rank, "npu_module_mem_2025.csv", "a,b\n1,2\n");
	for (i = 0; i < MP_COUNT(outputs); i++)
		assert_true(rank_torture(&rank, outputs[i]) > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_all, drop_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_pair),
		TEST(test_decimals),
		TEST(test_stray_release),
		TEST(test_leading_releases),
		TEST(test_double_allocation),
		TEST(test_order_of_rows),
		TEST(test_peak),
		TEST(test_peak_of_a_handover),
		TEST(test_memory_record),
		TEST(test_memory_of_another_rank),
		TEST(test_truncated_records),
		TEST(test_record_lies),
		TEST(test_text_lies),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
