/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls of a request to a file, and how it goes on after each result. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <cmocka.h>

#include "storage/nvme/status.h"
#include "storage/nvme_server/task.h"

enum { FD = 3, DIRECT_FD = 4, PAGE = 4096 };

static struct adv_nvme_backend backend = {.fd = FD, .direct_fd = DIRECT_FD};
static struct adv_nvme_request request;
static struct adv_nvme_task task;
static uint8_t data[2 * PAGE] __attribute__((aligned(PAGE)));

static void begin(enum adv_nvme_io_kind kind, uint64_t length, uint8_t *at, bool fua)
{
	memset(&request, 0, sizeof(request));
	request.io = (struct adv_nvme_io){.kind = kind,
					  .backend = &backend,
					  .offset = PAGE,
					  .source = 9 * PAGE,
					  .length = length,
					  .data = at,
					  .fua = fua};
	assert_true(adv_nvme_task_begin(&task, &request));
}

static struct adv_nvme_call next(void)
{
	struct adv_nvme_call call;

	adv_nvme_task_call(&task, &call);
	return call;
}

static void goes_on(int result)
{
	uint16_t status;

	assert_false(adv_nvme_task_called(&task, result, &status));
}

static void ends(int result, uint16_t wanted)
{
	uint16_t status = 0xffff;

	assert_true(adv_nvme_task_called(&task, result, &status));
	assert_int_equal(status, wanted);
	adv_nvme_task_end(&task);
}

/* A short part goes on behind it, and is not aligned any more. */
static void test_parts(void **state)
{
	struct adv_nvme_call call;

	begin(ADV_NVME_IO_WRITE, 2 * PAGE, data, true);
	call = next();
	assert_int_equal(call.fd, DIRECT_FD);
	assert_int_equal(call.flags, RWF_DSYNC);
	goes_on(-EINTR);
	goes_on(100);
	call = next();
	assert_int_equal(call.fd, FD);
	assert_int_equal(call.offset, PAGE + 100);
	assert_int_equal(call.length, 2 * PAGE - 100);
	assert_ptr_equal(call.data, data + 100);
	ends(2 * PAGE - 100, 0);
	begin(ADV_NVME_IO_READ, PAGE, data + 64, false); /* as in a capsule */
	assert_int_equal(next().fd, FD);
	ends(0, ADV_NVME_READ_ERROR);
}

/* A file system that cannot punch holes: zeros are written, a part at a time. */
static void test_zeros(void **state)
{
	struct adv_nvme_call call;
	uint64_t left = 1 << 20;

	begin(ADV_NVME_IO_ZERO, left, NULL, true);
	assert_int_equal(next().kind, ADV_NVME_CALL_FALLOCATE);
	goes_on(-EOPNOTSUPP);
	while (left) {
		call = next();
		assert_int_equal(call.kind, ADV_NVME_CALL_WRITE);
		assert_true(call.length > 0 && call.length <= left);
		assert_int_equal(call.offset + left, PAGE + (1 << 20));
		for (uint64_t i = 0; i < call.length; i++)
			assert_int_equal(call.data[i], 0);
		left -= call.length;
		goes_on((int)call.length);
	}
	assert_int_equal(next().kind, ADV_NVME_CALL_SYNC);
	ends(0, 0);
	begin(ADV_NVME_IO_DEALLOCATE, PAGE, NULL, false);
	ends(-EOPNOTSUPP, 0); /* it is advice */
}

/* Copy reads its source whole, then writes; each may be done in parts, or fail. */
static void test_copy(void **state)
{
	struct adv_nvme_call call;

	begin(ADV_NVME_IO_COPY, 2 * PAGE, NULL, true);
	call = next();
	assert_int_equal(call.kind, ADV_NVME_CALL_READ);
	assert_int_equal(call.offset, 9 * PAGE);
	goes_on(PAGE);
	assert_int_equal(next().offset, 10 * PAGE);
	goes_on(PAGE);
	call = next();
	assert_int_equal(call.kind, ADV_NVME_CALL_WRITE);
	assert_int_equal(call.offset, PAGE);
	assert_int_equal(call.length, 2 * PAGE);
	assert_int_equal(call.flags, RWF_DSYNC);
	goes_on(PAGE);
	ends(PAGE, 0);
	begin(ADV_NVME_IO_COPY, PAGE, NULL, false);
	ends(0, ADV_NVME_READ_ERROR);
	begin(ADV_NVME_IO_COPY, PAGE, NULL, false);
	goes_on(PAGE);
	ends(-EIO, ADV_NVME_WRITE_FAULT);
}

/* A long range is punched in parts. */
static void test_punch(void **state)
{
	uint64_t length = (1ull << 30) + PAGE, done = 0;
	uint16_t status;

	begin(ADV_NVME_IO_DEALLOCATE, length, NULL, false);
	for (unsigned i = 0; i < 100; i++) {
		struct adv_nvme_call call = next();

		assert_int_equal(call.kind, ADV_NVME_CALL_FALLOCATE);
		assert_true(call.offset == PAGE + done);
		done += call.length;
		if (adv_nvme_task_called(&task, 0, &status))
			break;
	}
	assert_true(done == length);
	assert_int_equal(status, 0);
}

static void test_errors(void **state)
{
	static const struct {
		enum adv_nvme_io_kind kind;
		int result;
		uint16_t status;
	} errors[] = {
		{ADV_NVME_IO_READ, -EIO, ADV_NVME_READ_ERROR},
		{ADV_NVME_IO_COMPARE, -EIO, ADV_NVME_READ_ERROR},
		{ADV_NVME_IO_WRITE, -EIO, ADV_NVME_WRITE_FAULT},
		{ADV_NVME_IO_WRITE, -EFBIG, ADV_NVME_WRITE_FAULT},
		{ADV_NVME_IO_WRITE, -ENOSPC, ADV_NVME_CAPACITY_EXCEEDED},
		{ADV_NVME_IO_ZERO, -EDQUOT, ADV_NVME_CAPACITY_EXCEEDED},
		{ADV_NVME_IO_FLUSH, -EIO, ADV_NVME_WRITE_FAULT},
		{ADV_NVME_IO_WRITE, -EBADF, ADV_NVME_WRITE_PROTECTED | ADV_NVME_DNR},
	};

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin(errors[i].kind, PAGE, data, false);
		ends(errors[i].result, errors[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),  cmocka_unit_test(test_copy),
		cmocka_unit_test(test_zeros),  cmocka_unit_test(test_punch),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
