/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of the hosts of an emulated fabric. Programs on them: tests/clients, group fabric.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/link/port.h"
#include "runtime/link/port_clock.h"
#include "runtime/link/ring.h"
#include "../../common/netns.h"

static const struct adv_port_place place = {.hosts = 300, .network = 0x0a1f00f0};

static void test_addresses(void **state)
{
	for (uint32_t host = 0; host < place.hosts; host++)
		for (unsigned local = 0; local < 2; local++) {
			struct adv_gid gid;

			adv_port_gid(&place, host, local, &gid);
			assert_int_equal(adv_gid_is_ipv4(&gid), !local);
			assert_int_equal(adv_port_host_of(&place, &gid), host);
		}
}

/* The link-local address is the one that the kernel makes of the MAC address. */
static void test_link_local(void **state)
{
	static const uint8_t wanted[16] = {0xfe, 0x80, [9] = 0xad, [11] = 0xff, 0xfe, 0, 1, 2};
	struct adv_gid gid;
	uint8_t mac[6];

	adv_port_mac(0x101, mac);
	assert_memory_equal(mac, ((uint8_t[]){0x02, 0xad, 0, 0, 1, 2}), 6);
	adv_port_gid(&place, 0x101, true, &gid);
	assert_memory_equal(gid.raw, wanted, 16);
}

/* Whatever differs in one bit is another host or none. */
static void test_foreign(void **state)
{
	for (unsigned local = 0; local < 2; local++)
		for (unsigned bit = 0; bit < 128; bit++) {
			struct adv_gid gid;
			uint32_t host;

			adv_port_gid(&place, 7, local, &gid);
			gid.raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
			host = adv_port_host_of(&place, &gid);
			assert_true(host != 7 && (host == UINT32_MAX || host < place.hosts));
			assert_true(bit >= 96 || host == UINT32_MAX);
		}
}

/* ---- a port whose emulator is a thread of the test ---- */

struct emulator {
	int listener;
	int sock;	/* to the port */
	int room;	/* the emulator's end */
	uint64_t limit; /* until when it has promised to run, ns */
};

static int memory_of(size_t len)
{
	int fd = memfd_create("port", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

static void emulator_open(struct emulator *em)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s-%u", ADV_PORT_NAME,
			 (unsigned)geteuid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	em->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(em->listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(em->listener, 1), 0);
}

/* Writes the memory of the clock. */
static int make_time(uint64_t limit)
{
	struct adv_port_time time = {.promised = limit};
	int fd = memory_of(sizeof(time));

	assert_int_equal(write(fd, &time, sizeof(time)), sizeof(time));
	return fd;
}

/* Gives one process a port. */
static void *serve_one(void *argument)
{
	struct emulator *em = argument;
	struct adv_port_message m;
	int room[2], fd[ADV_PORT_FDS], least = 0;
	struct pollfd called = {.fd = em->listener, .events = POLLIN};

	/* accept(2) takes the lowest free descriptor before it waits: the port has that one. */
	assert_int_equal(poll(&called, 1, -1), 1);
	em->sock = accept(em->listener, NULL, NULL);
	assert_int_equal(adv_port_receive(em->sock, &m, NULL, 0, true), 0);
	assert_int_equal(m.type, ADV_PORT_ATTACH);
	m.place = (struct adv_port_place){.hosts = 2,
					  .numerator = 1,
					  .denominator = 1,
					  .tx_size = ADV_RING_SIZE_MIN,
					  .rx_size = ADV_RING_SIZE_MIN};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, room), 0);
	assert_int_equal(setsockopt(room[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
	em->room = room[1];
	fd[ADV_PORT_MEMORY] = memory_of(adv_port_memory_len(&m.place));
	fd[ADV_PORT_ROOM] = room[0];
	fd[ADV_PORT_TIME] = make_time(em->limit);
	assert_int_equal(adv_port_send(em->sock, &m, fd, ADV_PORT_FDS), 0);
	for (unsigned i = 0; i < ADV_PORT_FDS; i++)
		close(fd[i]);
	return NULL;
}

static void destroy_nothing(struct adv_link *link)
{
	(void)link;
}

static const struct adv_link_ops inner_ops = {.destroy = destroy_nothing};

/* Creates the port of host 0. */
static struct adv_link *port_open(struct adv_link *inner, struct emulator *em)
{
	struct adv_link *port;
	pthread_t server;

	*inner = (struct adv_link){.ops = &inner_ops, .send_fd = -1};
	assert_int_equal(pthread_create(&server, NULL, serve_one, em), 0);
	port = adv_port_create(inner, 1, 1);
	assert_non_null(port);
	assert_int_equal(pthread_join(server, NULL), 0);
	return port;
}

static void emulator_close(struct emulator *em)
{
	close(em->room);
	close(em->sock);
	close(em->listener);
}

/* Returns a socket whose peer has closed its end. */
static int ended_socket(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	close(pair[1]);
	return pair[0];
}

/* Returns the lowest free descriptor. */
static int next_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

#define S 1000000000ull

/* In a child of fork(), another descriptor gets the number of the port's socket. Its end is not
 * that of the emulator, whose clock stays as slow as a late emulator's. */
static void test_abandoned(void **state)
{
	struct adv_link inner, *port;
	struct emulator em = {.limit = S};
	uint64_t first;
	int number, other;

	emulator_open(&em);
	number = next_descriptor(); /* the server waits until the port has it */
	port = port_open(&inner, &em);
	adv_port_abandon(port);
	assert_int_equal(fcntl(number, F_GETFD), -1);
	other = ended_socket();
	if (other != number)
		assert_int_equal(dup2(other, number), number);
	first = adv_port_now(port, 2 * S);
	assert_in_range(adv_port_now(port, 3 * S) - first, 1, 2 * S / ADV_PORT_CLOCK_CREEP);
	port->ops->destroy(port);
	assert_true(fcntl(number, F_GETFD) >= 0);
	close(number);
	if (other != number)
		close(other);
	emulator_close(&em);
}

/* Sends to host 1 until the port is full. */
static void fill(struct adv_link *port)
{
	static uint8_t payload[4096];
	struct iovec iov = {payload, sizeof(payload)};
	struct adv_path path = {0};
	struct adv_tx_batch batch;
	unsigned sends = 0;

	adv_port_gid(adv_port_place_of(port), 0, false, &path.sgid);
	adv_port_gid(adv_port_place_of(port), 1, false, &path.dgid);
	do {
		batch.count = 1;
		batch.packet[0] = (struct adv_tx_packet){.path = &path,
							 .iov = &iov,
							 .iov_count = 1,
							 .header_len = ADV_BTH_LEN,
							 .payload_len = sizeof(payload)};
		assert_true(sends++ < 10000);
	} while (port->ops->send(port, &batch));
}

static bool is_writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1;
}

/* A full port is not writable, so that its program sleeps. An emulator that empties the socket
 * late, when the program has filled the ring again, does not change that for longer than a flush.
 */
static void test_full(void **state)
{
	struct emulator em = {.limit = S};
	struct adv_link inner, *port;
	uint8_t bytes[64];

	emulator_open(&em);
	port = port_open(&inner, &em);
	fill(port);
	assert_false(is_writable(port->send_fd));
	assert_true(recv(em.room, bytes, sizeof(bytes), MSG_DONTWAIT) > 0);
	assert_true(is_writable(port->send_fd));
	assert_false(port->ops->flush(port));
	assert_false(is_writable(port->send_fd));
	port->ops->destroy(port);
	emulator_close(&em);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_link_local),
		cmocka_unit_test(test_foreign),	  cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_full),
	};

	if (!netns_enter())
		return NETNS_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
