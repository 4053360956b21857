/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Networks that fail, addresses that are removed, and a daemon that is killed. */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/netns.h"
#include "ends.h"

#define HERE "10.77.2.1"
#define AWAY "10.77.2.2" /* an address of the link that no host has */

static int make_link(void **state)
{
	run("ip link add veth0 type veth peer name veth1 && ip link set veth0 up && "
	    "ip link set veth1 up && ip address add " HERE "/24 dev veth0");
	assert_true(netns_wait_running("veth0"));
	wait_for_address(HERE);
	return 0;
}

static int remove_link(void **state)
{
	run("ip link del veth0");
	return 0;
}

static void an_address_that_does_not_answer(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	int status;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, address(AWAY, 1), 300), 0);
	status = expect_event(channel, RDMA_CM_EVENT_ADDR_ERROR);
	assert_true(status == -ETIMEDOUT || status == -EHOSTUNREACH);
	assert_int_equal(rdma_destroy_id(id), 0);

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, address(AWAY, 1), 300), -1);
	assert_true(errno == ETIMEDOUT || errno == EHOSTUNREACH);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* Connecting to a known neighbour that does not run RoCE fails. */
static void a_host_without_rdma(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	run("ip neigh replace " AWAY " lladdr 02:00:00:00:00:01 dev veth0 nud permanent");
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, address(AWAY, 1), PATIENCE_MS), 0);
	assert_int_equal(expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	assert_int_equal(rdma_resolve_route(id, PATIENCE_MS), 0);
	assert_int_equal(expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
	make_qp(id, IBV_QPT_RC);
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(expect_event(channel, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void a_way_that_is_gone(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	run("ip neigh replace " AWAY " lladdr 02:00:00:00:00:01 dev veth0 nud permanent");
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, address(AWAY, 1), PATIENCE_MS), 0);
	assert_int_equal(expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	run("ip route del 10.77.2.0/24 dev veth0");
	if (rdma_resolve_route(id, PATIENCE_MS) == 0)
		assert_int_not_equal(expect_event(channel, RDMA_CM_EVENT_ROUTE_ERROR), 0);
	else
		fail_msg("refused at once: %s", strerror(errno));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void an_address_that_goes(void **state)
{
	struct ends e;

	ends_open(&e, HERE, RDMA_PS_TCP);
	ends_connect(&e);
	run("ip address del " HERE "/24 dev veth0");
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_ADDR_CHANGE), 0);
	ends_close(&e);
}

/* ---- the daemon ---- */

/* Kills adverbd, which is in this PID namespace. Its keeper starts a new daemon. */
static void kill_daemon(void)
{
	DIR *proc = opendir("/proc");
	char path[64], name[32], state;
	struct dirent *d;
	int killed = 0;

	assert_non_null(proc);
	while ((d = readdir(proc))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%.20s/stat", d->d_name);
		f = isdigit((unsigned char)d->d_name[0]) ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fscanf(f, "%*d (%31[^)]) %c", name, &state) == 2 && state != 'Z' &&
		    strcmp(name, "adverbd") == 0 && kill(atoi(d->d_name), SIGKILL) == 0)
			killed++;
		fclose(f);
	}
	closedir(proc);
	assert_int_equal(killed, 1);
}

static void the_daemon_dies(void **state)
{
	struct rdma_cm_event *event;
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	ends_connect(&e);
	kill_daemon();
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_DEVICE_REMOVAL), 0);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_DEVICE_REMOVAL), 0);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_DEVICE_REMOVAL), 0);
	FAILS(ENODEV, rdma_get_cm_event(e.passive, &event));
	FAILS(ENODEV, rdma_listen(e.listener, 1));
	FAILS(ENODEV, rdma_disconnect(e.client));
	assert_int_equal(e.client->qp->state, IBV_QPS_ERR);
	ends_close(&e);
	/* A new daemon is found, or started, and works. */
	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	ends_connect(&e);
	assert_int_equal(rdma_disconnect(e.client), 0);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_DISCONNECTED), 0);
	ends_close(&e);
}

/* The other process: this program again. It is killed after it has connected. */
static int peer(uint16_t port)
{
	struct ibv_qp_init_attr attr = {.cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, address("127.0.0.1", port), PATIENCE_MS) ||
	    rdma_resolve_route(id, PATIENCE_MS) || rdma_create_qp(id, NULL, &attr) ||
	    rdma_connect(id, NULL))
		return 1;
	pause();
	return 0;
}

static void a_peer_that_dies(void **state)
{
	struct ends e;
	pid_t child;
	char text[8];
	int status;

	ends_open(&e, "127.0.0.1", RDMA_PS_TCP);
	child = fork();
	if (child == 0) {
		snprintf(text, sizeof(text), "%d", ntohs(rdma_get_src_port(e.listener)));
		execl("/proc/self/exe", "peer", text, NULL);
		_exit(2);
	}
	ends_request(&e);
	make_qp(e.server, IBV_QPT_RC);
	assert_int_equal(rdma_accept(e.server, NULL), 0);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_ESTABLISHED), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(expect_event(e.passive, RDMA_CM_EVENT_DISCONNECTED), 0);
	ends_close(&e);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_address_that_does_not_answer, make_link,
						remove_link),
		cmocka_unit_test_setup_teardown(a_host_without_rdma, make_link, remove_link),
		cmocka_unit_test_setup_teardown(a_way_that_is_gone, make_link, remove_link),
		cmocka_unit_test_setup_teardown(an_address_that_goes, make_link, remove_link),
		cmocka_unit_test(a_peer_that_dies),
		cmocka_unit_test(the_daemon_dies),
	};

	struct rdma_event_channel *channel;
	int failed;

	if (argc == 2)
		return peer((uint16_t)atoi(argv[1]));
	/* This channel keeps the daemon running, so that no test has to start one: see
	 * run-isolated. */
	channel = rdma_create_event_channel();
	if (!channel)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rdma_destroy_event_channel(channel);
	return failed;
}
