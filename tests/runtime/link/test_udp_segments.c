/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segmented sends that fail. If the kernel rejects the segmentation, the link tries it again later.
 * After a failure for another reason, segmented sends stay enabled. The link's system calls pass
 * through this file, which counts them and rejects them like a kernel.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/link/udp_internal.h"
#include "../../common/netns.h"
#include "../../common/raw_calls.h"

#define HERE	 "10.9.0.1"
#define THERE	 "10.9.0.2"

#define NO_LIMIT UINT32_MAX

static int home, away;
static struct adv_tx_batch batch;

/* The behaviour of the simulated kernel, and its counts. */
static struct {
	bool refuse;		/* reject segmented sends */
	const char *refuse_to;	/* address to which sends are rejected; NULL: any */
	uint32_t singles_taken; /* single packets until the socket is full */
	unsigned segmented;	/* segmented sends tried */
	unsigned refused;	/* segmented sends rejected */
	int option;		/* UDP_SEGMENT of the sending socket */
	unsigned by_option;	/* segmented sends without control data */
	unsigned option_set;	/* times that it was set to a size */
	bool refuse_option;	/* reject all sends while the option is set */
} kernel;

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

static bool is_segmented(const struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR((struct msghdr *)m, c))
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_SEGMENT)
			return true;
	return false;
}

static bool goes_to(const struct msghdr *m, const char *address)
{
	const struct sockaddr_in *a = m->msg_name;

	return !address || a->sin_addr.s_addr == inet_addr(address);
}

/* Returns 0, or the errno that the kernel would set. */
static int refusal_of(const struct msghdr *m)
{
	if (!is_segmented(m))
		return 0;
	kernel.segmented++;
	if (!kernel.refuse || !goes_to(m, kernel.refuse_to))
		return 0;
	kernel.refused++;
	return EIO;
}

static int single_refused(void)
{
	if (kernel.singles_taken == 0)
		return EAGAIN;
	if (kernel.singles_taken != NO_LIMIT)
		kernel.singles_taken--;
	return 0;
}

/* Sends several messages. It ends at the first rejected message. */
static long send_many(long fd, struct mmsghdr *m, unsigned n, long flags)
{
	unsigned good = 0;
	int err = 0;

	while (good < n && !(err = refusal_of(&m[good].msg_hdr)))
		good++;
	if (good == 0) {
		errno = err;
		return -1;
	}
	return __real_syscall(SYS_sendmmsg, fd, m, good, flags);
}

/* Replaces syscall(). It always reads six arguments, even if the caller passed fewer. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list list;
	int err = 0;

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_setsockopt && arg[1] == IPPROTO_UDP && arg[2] == UDP_SEGMENT) {
		kernel.option = *(const int *)arg[3];
		kernel.option_set += kernel.option != 0;
	}
	if (number == SYS_sendmmsg)
		return send_many(arg[0], (struct mmsghdr *)arg[1], (unsigned)arg[2], arg[3]);
	if (number == SYS_sendmsg)
		err = refusal_of((const struct msghdr *)arg[1]);
	if (number == SYS_sendto && kernel.option && (int)arg[2] > kernel.option)
		kernel.by_option++;
	else if (number == SYS_sendto)
		err = single_refused();
	if ((number == SYS_sendto || number == SYS_sendmsg) && kernel.option &&
	    kernel.refuse_option)
		err = EINVAL;
	if (err) {
		errno = err;
		return -1;
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void start_batch(void)
{
	batch.count = 0;
	batch.iov_used = 0;
}

/* The link of this namespace, and the link of the other namespace. */
static struct adv_link *a, *b;

static int open_links(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.singles_taken = NO_LIMIT;
	a = open_link(HERE);
	assert_true(netns_go(away));
	b = open_link(THERE);
	assert_true(netns_go(home));
	return 0;
}

static int close_links(void **state)
{
	close_link(a);
	close_link(b);
	return system("ip link set va mtu 9000");
}

/* Sends 32 packets of the largest size and a short one, and expects `expected` packets to arrive.
 */
static void send_some(struct adv_path *path, unsigned expected)
{
	struct store *store = fresh_store();

	start_batch();
	for (uint32_t i = 0; i < 33; i++)
		add_packet(&batch, path, 7, i, i < 32 ? 4096 : 100);
	assert_true(a->ops->send(a, &batch));
	receive_all(b, store, expected);
	assert_int_equal(store->count, expected);
	for (uint32_t i = 0; i < expected && expected == 33; i++)
		check_packet(&store->packet[i], 7, i, i < 32 ? 4096 : 100);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
}

/* As send_some(), but returns the number of segmented sends. */
static unsigned segmented(struct adv_path *path)
{
	unsigned before = kernel.segmented;

	send_some(path, 33);
	return kernel.segmented - before;
}

/* If the interface's MTU is smaller for some time, segmented sends continue afterwards. */
static void test_mtu_dip(void **state)
{
	struct adv_path path;

	path_between(&path, HERE, THERE, 0xc000);
	assert_int_equal(segmented(&path), 3);
	assert_int_equal(system("ip link set va mtu 1500"), 0);
	for (unsigned i = 0; i < 100; i++)
		send_some(&path, 1);
	assert_int_equal(system("ip link set va mtu 9000"), 0);
	assert_int_equal(segmented(&path), 3);
}

/* After the source address is removed and added again, segmented sends continue. */
static void test_address_vanishes(void **state)
{
	struct adv_path path;

	assert_int_equal(system("ip address add 10.9.0.7/24 dev va"), 0);
	path_between(&path, "10.9.0.7", THERE, 0xc000);
	assert_int_equal(segmented(&path), 3);
	assert_int_equal(system("ip address del 10.9.0.7/24 dev va"), 0);
	for (unsigned i = 0; i < 100; i++)
		send_some(&path, 0);
	assert_int_equal(system("ip address add 10.9.0.7/24 dev va"), 0);
	assert_int_equal(segmented(&path), 3);
}

/* If the kernel rejects all segmented sends, all packets still arrive, and failed tries become
 * rarer. When the kernel accepts segmented sends again, the link uses them. */
static void test_refused_and_allowed_again(void **state)
{
	struct adv_path path;
	unsigned tries = 0, sends = 0;

	path_between(&path, HERE, THERE, 0xc000);
	kernel.refuse = true;
	for (unsigned i = 0; i < 100; i++)
		send_some(&path, 33);
	tries = kernel.refused;
	assert_in_range(tries, 3, 20);
	for (unsigned i = 0; i < 1000; i++)
		send_some(&path, 33);
	assert_in_range(kernel.refused - tries, 3, 100);
	assert_int_equal(a->counters.tx_packets, 1100 * 33);
	assert_int_equal(a->counters.tx_dropped, 0);
	kernel.refuse = false;
	while (segmented(&path) != 3)
		assert_true(++sends < 200);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(segmented(&path), 3);
}

/* A rejection for one destination does not affect another destination of the same socket. */
static void test_one_destination(void **state)
{
	struct adv_path refused, other;

	path_between(&refused, HERE, "10.9.0.3", 0xc000);
	path_between(&other, HERE, THERE, 0xc000);
	assert_int_equal(system("ip neighbour replace 10.9.0.3 lladdr 02:00:00:00:00:03 dev va"),
			 0);
	kernel.refuse = true;
	kernel.refuse_to = "10.9.0.3";
	for (unsigned i = 0; i < 50; i++) {
		send_some(&refused, 0);
		assert_int_equal(segmented(&other), 3);
	}
	assert_in_range(kernel.refused, 1, 20);
}

/* The kernel rejects sends to more destinations than the link has entries. Sends to another
 * destination stay segmented. */
static void test_many_destinations(void **state)
{
	struct adv_path path[100], other;
	char address[20];

	path_between(&other, HERE, THERE, 0xc000);
	assert_int_equal(segmented(&other), 3);
	kernel.refuse = true;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(address, sizeof(address), "10.9.0.%u", 100 + i);
		path_between(&path[i], HERE, address, 0xc000);
		start_batch();
		for (uint32_t k = 0; k < 64; k++)
			add_packet(&batch, &path[i], 7, k, 8);
		assert_true(a->ops->send(a, &batch));
	}
	assert_int_equal(kernel.refused, 100);
	kernel.refuse = false;
	assert_int_equal(segmented(&other), 3);
}

/*
 * The socket becomes full within a message that the kernel rejected segmented. When there is room
 * again, the kernel would accept segments, but the rest is sent as single packets of
 * Identification 0.
 */
static void test_full_in_the_midst(void **state)
{
	struct store *store = fresh_store();
	struct adv_path path;

	close_link(b);
	b = open_link("127.0.0.2"); /* this receiver requires the right Identification */
	path_between(&path, "127.0.0.1", "127.0.0.2", 0xc000);
	kernel.refuse = true;
	kernel.singles_taken = 5;
	start_batch();
	for (uint32_t i = 0; i < 15; i++)
		add_packet(&batch, &path, 7, i, 4096);
	assert_false(a->ops->send(a, &batch));
	assert_true(a->send_fd >= 0);
	kernel.refuse = false;
	kernel.singles_taken = NO_LIMIT;
	assert_true(a->ops->flush(a));
	receive_all(b, store, 15);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
	assert_int_equal(store->count, 15);
	for (uint32_t i = 0; i < 15; i++)
		check_packet(&store->packet[i], 7, i, 4096);
}

/* Sends `count` packets of this size in one batch, and expects them to arrive. */
static void send_equal(struct adv_path *path, unsigned count, uint32_t size)
{
	struct store *store = fresh_store();

	start_batch();
	for (uint32_t i = 0; i < count; i++)
		add_packet(&batch, path, 7, i, size);
	assert_true(a->ops->send(a, &batch));
	receive_all(b, store, count);
	assert_int_equal(store->count, count);
	for (uint32_t i = 0; i < count; i++)
		check_packet(&store->packet[i], 7, i, size);
	assert_int_equal(b->counters.rx_icrc_errors, 0);
}

static void send_often(struct adv_path *path, unsigned count, uint32_t size)
{
	for (unsigned i = 0; i < 100; i++)
		send_equal(path, count, size);
}

/* If one segment size is used again and again, it becomes an option of the socket. Other sizes and
 * single packets of any length still arrive as they are sent. */
static void test_size_becomes_option(void **state)
{
	struct adv_path path;

	path_between(&path, HERE, THERE, 0xc000);
	send_often(&path, 3, 256);
	assert_int_equal(kernel.option, 256 + ADV_BTH_LEN + ADV_ICRC_LEN);
	assert_in_range(kernel.by_option, 50, 99);
	for (uint32_t size = 0; size <= 4096; size += 64) {
		send_equal(&path, 1, size);
		send_equal(&path, 2 + size % 5, 4096 - size);
		send_equal(&path, 3, 256);
	}
	assert_int_equal(kernel.option_set, 1);
	assert_int_equal(kernel.option, 256 + ADV_BTH_LEN + ADV_ICRC_LEN);
	send_often(&path, 1, 1024);
	assert_int_equal(kernel.option, 0);
	send_often(&path, 2, 1024);
	assert_int_equal(kernel.option, 1024 + ADV_BTH_LEN + ADV_ICRC_LEN);
	assert_int_equal(a->counters.tx_dropped, 0);
}

/* Older kernels reject each send while the option exceeds what the route can carry. No packet is
 * lost, and tries of the option become rarer. */
static void test_option_refused(void **state)
{
	struct adv_path path;
	unsigned set;

	path_between(&path, HERE, THERE, 0xc000);
	kernel.refuse_option = true;
	send_often(&path, 3, 256);
	set = kernel.option_set;
	assert_in_range(set, 1, 3);
	for (unsigned i = 0; i < 10; i++)
		send_often(&path, 3, 256);
	assert_in_range(kernel.option_set - set, 1, 6);
	assert_int_equal(a->counters.tx_dropped, 0);
	assert_int_equal(a->counters.tx_packets, 3300);
	kernel.refuse_option = false;
	send_often(&path, 1, 64);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_links, close_links)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_mtu_dip),
		TEST(test_address_vanishes),
		TEST(test_refused_and_allowed_again),
		TEST(test_one_destination),
		TEST(test_many_destinations),
		TEST(test_full_in_the_midst),
		TEST(test_size_becomes_option),
		TEST(test_option_refused),
	};

	if (!netns_enter() || !netns_join(&home, &away))
		return NETNS_SKIP;
	raw_calls_go_to(__wrap_syscall);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
