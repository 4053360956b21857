/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Backends and the engine: every request to memory and to files, by io_uring (if it is permitted)
 * and by blocking calls, buffered and direct; truncated files, limits, and short parts. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "storage/nvme/status.h"
#include "storage/nvme_server/backend.h"

enum { SIZE = 4 << 20, PAGE = 4096 };

struct lab {
	int wake;
	struct adv_nvme_engine *engine;
	struct adv_nvme_backend *backend;
	char path[64];
	uint8_t *data;
	uint64_t source; /* of Copy */
};

static struct lab lab;

static void open_lab(bool uring, bool direct, bool memory)
{
	struct adv_nvme_backend_config config = {.path = memory ? "ram:4M" : lab.path,
						 .direct = direct};
	char why[ADV_NVME_BACKEND_WHY] = "";
	int fd;

	strcpy(lab.path, "test_backend.XXXXXX");
	fd = mkstemp(lab.path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	close(fd);
	lab.wake = eventfd(0, EFD_NONBLOCK);
	lab.engine = adv_nvme_engine_create(lab.wake, uring);
	lab.backend = adv_nvme_backend_open(&config, why);
	lab.data = aligned_alloc(PAGE, SIZE);
	assert_true(lab.engine && lab.backend && lab.data);
	assert_string_equal(why, "");
}

static void close_lab(void)
{
	adv_nvme_engine_destroy(lab.engine);
	adv_nvme_backend_close(lab.backend);
	close(lab.wake);
	unlink(lab.path);
	free(lab.data);
}

/* Executes a request, and sleeps as a worker does. */
static uint16_t run(enum adv_nvme_io_kind kind, uint64_t offset, uint64_t length, uint8_t *data)
{
	struct adv_nvme_request request = {.io = {.kind = kind,
						  .backend = lab.backend,
						  .offset = offset,
						  .length = length,
						  .source = lab.source,
						  .data = data}};
	struct pollfd fd = {.fd = lab.wake, .events = POLLIN};
	uint16_t status;
	uint64_t count;

	if (kind == ADV_NVME_IO_WRITE || kind == ADV_NVME_IO_ZERO || kind == ADV_NVME_IO_COPY)
		request.io.fua = offset & PAGE;
	request.io.may_deallocate = offset & (2 * PAGE);
	if (adv_nvme_engine_start(lab.engine, &request, &status))
		return status;
	adv_nvme_engine_submit(lab.engine);
	for (unsigned i = 0; i < 100000; i++) {
		struct adv_nvme_request *ended = adv_nvme_engine_next(lab.engine, &status);

		if (ended) {
			assert_ptr_equal(ended, &request);
			return status;
		}
		if (poll(&fd, 1, 10000) == 1 && read(lab.wake, &count, sizeof(count)) < 0)
			fail_msg("eventfd");
	}
	fail_msg("the request does not end");
	return 0xffff;
}

static void expect_bytes(uint64_t offset, uint64_t length, uint8_t byte)
{
	memset(lab.data, byte + 1, length);
	assert_int_equal(run(ADV_NVME_IO_READ, offset, length, lab.data), 0);
	for (uint64_t i = 0; i < length; i++) {
		if (lab.data[i] != byte)
			fail_msg("byte %llu is %u", (unsigned long long)(offset + i), lab.data[i]);
	}
}

/* Copies to a place apart, and to one that overlaps the source, in both directions. */
static void expect_copies(void)
{
	const uint64_t length = 64 * PAGE;

	for (unsigned i = 0; i < 128; i++)
		memset(lab.data + (size_t)i * PAGE, (int)i, PAGE);
	assert_int_equal(run(ADV_NVME_IO_WRITE, 0, 2 * length, lab.data), 0);
	lab.source = 0;
	assert_int_equal(run(ADV_NVME_IO_COPY, 2 << 20, length, NULL), 0);
	expect_bytes((2 << 20) + 63 * PAGE, PAGE, 63);
	assert_int_equal(run(ADV_NVME_IO_COPY, PAGE, length, NULL), 0);
	expect_bytes(0, PAGE, 0);
	expect_bytes(PAGE, PAGE, 0);
	expect_bytes(2 * PAGE, PAGE, 1);
	expect_bytes(64 * PAGE, PAGE, 63);
	lab.source = PAGE;
	assert_int_equal(run(ADV_NVME_IO_COPY, 0, length, NULL), 0);
	expect_bytes(0, PAGE, 0);
	expect_bytes(63 * PAGE, PAGE, 63);
	expect_bytes(64 * PAGE, PAGE, 63);
	expect_bytes(65 * PAGE, PAGE, 65);
}

static void test_requests(void **state)
{
	for (unsigned i = 0; i < 5; i++) {
		open_lab(i & 1, i & 2, i == 4);
		memset(lab.data, 0x5a, SIZE);
		assert_int_equal(run(ADV_NVME_IO_WRITE, 0, SIZE, lab.data), 0);
		expect_bytes(0, SIZE, 0x5a);
		/* Unaligned data, as in a capsule. */
		memset(lab.data + 64, 0x6b, PAGE);
		assert_int_equal(run(ADV_NVME_IO_WRITE, PAGE, PAGE, lab.data + 64), 0);
		expect_bytes(PAGE, PAGE, 0x6b);
		expect_bytes(2 * PAGE, PAGE, 0x5a);
		memset(lab.data, 0x5a, SIZE);
		assert_int_equal(run(ADV_NVME_IO_COMPARE, 2 * PAGE, 1 << 20, lab.data), 0);
		lab.data[(1 << 20) - 1]++;
		assert_int_equal(run(ADV_NVME_IO_COMPARE, 2 * PAGE, 1 << 20, lab.data),
				 ADV_NVME_COMPARE_FAILURE);
		for (unsigned k = 0; k < 4; k++) { /* with FUA, with deallocation, both */
			memset(lab.data, 0x5a, SIZE);
			assert_int_equal(run(ADV_NVME_IO_WRITE, 0, SIZE, lab.data), 0);
			assert_int_equal(run(ADV_NVME_IO_ZERO, k * PAGE, (1 << 20) + PAGE, NULL),
					 0);
			expect_bytes(k * PAGE, (1 << 20) + PAGE, 0);
			expect_bytes(k * PAGE + (1 << 20) + PAGE, PAGE, 0x5a);
		}
		assert_int_equal(run(ADV_NVME_IO_DEALLOCATE, 2 << 20, 1 << 20, NULL), 0);
		expect_bytes(2 << 20, 1 << 20, 0);
		expect_bytes(3 << 20, 1 << 20, 0x5a);
		assert_int_equal(run(ADV_NVME_IO_FLUSH, 0, 0, NULL), 0);
		expect_copies();
		close_lab();
	}
}

/* Deallocation of a file returns its space. */
static void test_thin(void **state)
{
	struct stat before, after;

	open_lab(true, false, false);
	memset(lab.data, 1, SIZE);
	assert_int_equal(run(ADV_NVME_IO_WRITE, 0, SIZE, lab.data), 0);
	assert_int_equal(stat(lab.path, &before), 0);
	assert_int_equal(run(ADV_NVME_IO_DEALLOCATE, 0, SIZE, NULL), 0);
	assert_int_equal(stat(lab.path, &after), 0);
	assert_true(after.st_blocks < before.st_blocks);
	assert_int_equal(after.st_size, SIZE);
	close_lab();
}

/* A file that becomes shorter, and a limit that it may not exceed: errors of requests. */
static void test_truncated(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		struct rlimit limit, small;

		open_lab(i & 1, i & 2, false);
		assert_int_equal(truncate(lab.path, PAGE), 0);
		assert_int_equal(run(ADV_NVME_IO_READ, 2 * PAGE, PAGE, lab.data),
				 ADV_NVME_READ_ERROR);
		assert_int_equal(run(ADV_NVME_IO_READ, 0, 2 * PAGE, lab.data), ADV_NVME_READ_ERROR);
		assert_int_equal(run(ADV_NVME_IO_COMPARE, 2 * PAGE, PAGE, lab.data),
				 ADV_NVME_READ_ERROR);
		assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
		small = (struct rlimit){.rlim_cur = PAGE, .rlim_max = limit.rlim_max};
		signal(SIGXFSZ, SIG_IGN);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		assert_int_equal(run(ADV_NVME_IO_WRITE, 2 * PAGE, PAGE, lab.data),
				 ADV_NVME_WRITE_FAULT);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		signal(SIGXFSZ, SIG_DFL);
		assert_int_equal(run(ADV_NVME_IO_WRITE, 2 * PAGE, PAGE, lab.data), 0);
		close_lab();
	}
}

/* Long requests that block take turns with short ones. */
static void test_turns(void **state)
{
	struct adv_nvme_request long_one, short_one;
	struct adv_nvme_request *ended = NULL;
	uint16_t status;
	unsigned calls;

	open_lab(false, false, false);
	memset(&long_one, 0, sizeof(long_one));
	long_one.io = (struct adv_nvme_io){
		.kind = ADV_NVME_IO_DEALLOCATE, .backend = lab.backend, .length = 1ull << 40};
	short_one = long_one;
	short_one.io.kind = ADV_NVME_IO_READ;
	short_one.io.length = PAGE;
	short_one.io.data = lab.data;
	assert_false(adv_nvme_engine_start(lab.engine, &long_one, &status));
	assert_false(adv_nvme_engine_start(lab.engine, &short_one, &status));
	for (calls = 0; calls < 3 && !ended; calls++)
		ended = adv_nvme_engine_next(lab.engine, &status);
	assert_ptr_equal(ended, &short_one);
	for (ended = NULL; calls < 10000 && !ended; calls++)
		ended = adv_nvme_engine_next(lab.engine, &status);
	assert_ptr_equal(ended, &long_one);
	assert_int_equal(status, 0);
	close_lab();
}

/* More requests than io_uring has entries. */
static void test_many(void **state)
{
	enum { COUNT = 1000 };
	static struct adv_nvme_request requests[COUNT];
	struct pollfd fd;
	unsigned ended = 0;
	uint64_t count;
	uint16_t status;

	open_lab(true, false, false);
	fd = (struct pollfd){.fd = lab.wake, .events = POLLIN};
	for (unsigned i = 0; i < COUNT; i++) {
		memset(&requests[i], 0, sizeof(requests[i]));
		requests[i].io = (struct adv_nvme_io){.kind = ADV_NVME_IO_READ,
						      .backend = lab.backend,
						      .offset = i * (uint64_t)PAGE,
						      .length = PAGE,
						      .data = lab.data + i * (size_t)PAGE};
		assert_false(adv_nvme_engine_start(lab.engine, &requests[i], &status));
	}
	adv_nvme_engine_submit(lab.engine);
	for (unsigned i = 0; i < 100000 && ended < COUNT; i++) {
		while (adv_nvme_engine_next(lab.engine, &status)) {
			assert_int_equal(status, 0);
			ended++;
		}
		if (ended < COUNT && poll(&fd, 1, 10000) == 1 &&
		    read(lab.wake, &count, sizeof(count)) < 0)
			fail_msg("eventfd");
	}
	assert_int_equal(ended, COUNT);
	close_lab();
}

static void expect_refused(const char *path, const char *wanted)
{
	struct adv_nvme_backend_config config = {.path = path};
	char why[ADV_NVME_BACKEND_WHY] = "";

	assert_null(adv_nvme_backend_open(&config, why));
	assert_non_null(strstr(why, wanted));
}

static void test_refused(void **state)
{
	char path[] = "test_backend.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	expect_refused(path, "less than 4 KiB");
	unlink(path);
	expect_refused(path, "No such file");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refused(path, "neither a regular file nor a block device");
	unlink(path);
	close(fd);
	expect_refused("/", "cannot open");
	expect_refused("ram:", "expected bytes");
	expect_refused("ram:100PB", "ram:100PB");
}

/* The identifier is that of the file, whatever its name. */
static void test_identifier(void **state)
{
	struct adv_nvme_backend_config config = {.path = lab.path, .read_only = true};
	uint8_t first[ADV_NVME_UUID_LEN], second[ADV_NVME_UUID_LEN];
	char why[ADV_NVME_BACKEND_WHY];
	struct adv_nvme_backend *b;

	open_lab(false, false, false);
	adv_nvme_backend_uuid(lab.backend, first);
	b = adv_nvme_backend_open(&config, why);
	assert_non_null(b);
	adv_nvme_backend_uuid(b, second);
	assert_memory_equal(first, second, sizeof(first));
	assert_int_equal(first[6] >> 4, 4);
	adv_nvme_backend_close(b);
	close_lab();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),   cmocka_unit_test(test_thin),
		cmocka_unit_test(test_truncated),  cmocka_unit_test(test_turns),
		cmocka_unit_test(test_many),	   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_identifier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
