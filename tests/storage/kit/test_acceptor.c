/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A listening socket with more connections than are accepted at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "storage/kit/acceptor.h"

enum { CONNECTIONS = 100 };

static struct adv_loop *loop;
static unsigned rounds, connections;

static void count_round(struct adv_task *t)
{
	rounds++;
	adv_loop_defer(loop, t);
}

static void accepted(void *user, int fd)
{
	close(fd);
	if (++connections == CONNECTIONS)
		adv_loop_stop(loop);
}

/* Returns the address of a port that was free a moment ago. */
static struct sockaddr_in free_address(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	close(fd);
	return at;
}

/* Peers that connect without end do not keep the loop from others. */
static void test_many(void **state)
{
	struct sockaddr_in at = free_address();
	int peers[CONNECTIONS];
	struct adv_acceptor *a;
	struct adv_task round;

	loop = adv_loop_create();
	a = adv_acceptor_create(loop, (struct sockaddr *)&at, accepted, NULL);
	assert_non_null(a);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		peers[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(peers[i], (struct sockaddr *)&at, sizeof(at)), 0);
	}
	adv_task_init(&round, count_round);
	adv_loop_defer(loop, &round);
	adv_loop_run(loop);
	adv_task_cancel(&round);
	adv_acceptor_destroy(a);
	adv_loop_destroy(loop);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		close(peers[i]);
	assert_true(rounds > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
