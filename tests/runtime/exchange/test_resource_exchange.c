/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests valid and invalid requests for the objects of a program, and the answers. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rights.h"
#include "runtime/exchange/resource_exchange.h"

#define HEAD offsetof(struct adv_resource_message, object)

struct fixture {
	int asks, answers;
	struct adv_resource_message m;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	f->asks = pair[0];
	f->answers = pair[1];
	f->m.magic = ADV_RESOURCE_EXCHANGE_MAGIC;
	f->m.version = ADV_RESOURCE_EXCHANGE_VERSION;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->asks);
	close(f->answers);
	free(f);
	return 0;
}

/* Lists *from + 2 objects, at most `room`. */
static unsigned tell(void *user, enum adv_resource_kind kind, uint64_t *from,
		     struct adv_object *out, unsigned room)
{
	unsigned count = *from + 2 < room ? (unsigned)*from + 2 : room;

	memset(out, 0, room * sizeof(*out));
	for (unsigned i = 0; i < count; i++)
		out[i].number = (uint32_t)kind * 1000 + i;
	*from = *from ? ADV_RESOURCES_END : 1;
	return count;
}

static void answers(void **state)
{
	struct fixture *f = *state;

	f->m.kind = ADV_RESOURCE_PD;
	f->m.from = ADV_RESOURCE_EXCHANGE_MOST - 2;
	assert_false(adv_resource_is_asked(f->answers));
	assert_int_equal(adv_resource_send(f->asks, &f->m), 0);
	assert_true(adv_resource_is_asked(f->answers));
	adv_resource_answer(f->answers, 7, tell, NULL);
	assert_int_equal(adv_resource_receive(f->asks, &f->m), 0);
	assert_int_equal(f->m.result, 0);
	assert_int_equal(f->m.slot, 7);
	assert_int_equal(f->m.count, ADV_RESOURCE_EXCHANGE_MOST);
	assert_true(f->m.from == ADV_RESOURCES_END);
	assert_int_equal(f->m.object[ADV_RESOURCE_EXCHANGE_MOST - 1].number,
			 ADV_RESOURCE_PD * 1000 + ADV_RESOURCE_EXCHANGE_MOST - 1);
	assert_int_equal(adv_resource_receive(f->asks, &f->m), EAGAIN);
}

static void refuses_kinds(void **state)
{
	struct fixture *f = *state;

	f->m.kind = ADV_RESOURCE_LAST + 1;
	assert_int_equal(adv_resource_send(f->asks, &f->m), 0);
	adv_resource_answer(f->answers, 7, tell, NULL);
	assert_int_equal(adv_resource_receive(f->asks, &f->m), 0);
	assert_int_equal(f->m.result, EOPNOTSUPP);
	assert_int_equal(f->m.count, 0);
}

static void expect_refused(struct fixture *f, size_t len)
{
	struct adv_resource_message got;

	assert_int_equal(send(f->asks, &f->m, len, 0), (ssize_t)len);
	assert_int_equal(adv_resource_receive(f->answers, &got), EPROTO);
	assert_int_equal(send(f->asks, &f->m, len, 0), (ssize_t)len);
	adv_resource_answer(f->answers, 7, tell, NULL);
	assert_int_equal(adv_resource_receive(f->asks, &got), EAGAIN); /* no answer was sent */
}

static void refuses_what_is_wrong(void **state)
{
	struct fixture *f = *state;

	expect_refused(f, 1);
	expect_refused(f, HEAD - 1);
	expect_refused(f, HEAD + 1);
	f->m.count = 1;
	expect_refused(f, HEAD);
	expect_refused(f, sizeof(f->m));
	f->m.count = ADV_RESOURCE_EXCHANGE_MOST + 1;
	expect_refused(f, sizeof(f->m));
	f->m.count = UINT32_MAX; /* the length in bytes exceeds 32 bits */
	expect_refused(f, HEAD);
	f->m.count = 0;
	f->m.version++;
	expect_refused(f, HEAD);
	f->m.version--;
	f->m.magic++;
	expect_refused(f, HEAD);
	assert_int_equal(send(f->asks, &f->m, HEAD, 0), HEAD);
	assert_false(adv_resource_is_asked(f->answers));
}

static void closes_what_comes_along(void **state)
{
	struct fixture *f = *state;
	union adv_rights_room room = {{0}};
	struct iovec iov = {&f->m, HEAD};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int pipe_ends[2];
	char byte;

	assert_int_equal(pipe(pipe_ends), 0);
	adv_rights_put(&msg, &room, pipe_ends[1]);
	assert_int_equal(sendmsg(f->asks, &msg, 0), HEAD);
	close(pipe_ends[1]);
	adv_resource_answer(f->answers, 7, tell, NULL);
	assert_int_equal(read(pipe_ends[0], &byte, 1), 0); /* no process has the other end open */
	close(pipe_ends[0]);
	assert_int_equal(adv_resource_receive(f->asks, &f->m), 0);
}

/* Tests that adv_resource_answer() does not block if the requester has closed its end or does not
 * read. */
static void waits_for_nobody(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 10000; i++) {
		if (adv_resource_send(f->asks, &f->m) == EAGAIN)
			break;
		adv_resource_answer(f->answers, 7, tell, NULL);
	}
	adv_resource_answer(f->answers, 7, tell, NULL);
	close(f->asks);
	f->asks = -1;
	adv_resource_answer(f->answers, 7, tell, NULL);
	while (adv_resource_receive(f->answers, &f->m) == 0)
		;
	assert_int_equal(adv_resource_receive(f->answers, &f->m), EPIPE);
	assert_false(adv_resource_is_asked(f->answers));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_what_is_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(closes_what_comes_along, setup, teardown),
		cmocka_unit_test_setup_teardown(waits_for_nobody, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
