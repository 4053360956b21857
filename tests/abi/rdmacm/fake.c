/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fake.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define CHANNELS 16
#define EVENTS	 64
#define COMMANDS 32

static struct {
	pthread_mutex_t lock;
	fake_answer answer;
	int sock;
	int tokens[CHANNELS];
	unsigned channels;
	unsigned ids;
	unsigned connections;
	int break_next;
	struct {
		uint32_t channel;
		struct adv_ucma_message m;
	} events[EVENTS];
	unsigned event_count;
	unsigned counts[COMMANDS];
	struct adv_ucma_message last[COMMANDS];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .sock = -1};

/* Options of the sanitizers, which support neither the signal stack of a cancelled thread nor
 * threads in a child of fork(). */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "use_sigaltstack=0";
}

const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static void close_all(void)
{
	if (fake.sock >= 0)
		shutdown(fake.sock, SHUT_RDWR);
	fake.sock = -1;
	for (unsigned i = 0; i < fake.channels; i++)
		if (fake.tokens[i] >= 0)
			close(fake.tokens[i]);
	fake.channels = 0;
}

void fake_die(void)
{
	pthread_mutex_lock(&fake.lock);
	close_all();
	pthread_mutex_unlock(&fake.lock);
}

void fake_start(fake_answer answer)
{
	pthread_mutex_lock(&fake.lock);
	close_all();
	fake.answer = answer;
	fake.event_count = 0;
	fake.connections = 0;
	fake.break_next = 0;
	memset(fake.counts, 0, sizeof(fake.counts));
	pthread_mutex_unlock(&fake.lock);
}

void fake_break_next(int len)
{
	pthread_mutex_lock(&fake.lock);
	fake.break_next = len;
	pthread_mutex_unlock(&fake.lock);
}

unsigned fake_count(enum adv_ucma_command type)
{
	unsigned n;

	pthread_mutex_lock(&fake.lock);
	n = fake.counts[type];
	pthread_mutex_unlock(&fake.lock);
	return n;
}

struct adv_ucma_message fake_last(enum adv_ucma_command type)
{
	struct adv_ucma_message m;

	pthread_mutex_lock(&fake.lock);
	m = fake.last[type];
	pthread_mutex_unlock(&fake.lock);
	return m;
}

uint32_t fake_last_id(void)
{
	uint32_t n;

	pthread_mutex_lock(&fake.lock);
	n = fake.ids;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

unsigned fake_connections(void)
{
	unsigned n;

	pthread_mutex_lock(&fake.lock);
	n = fake.connections;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

struct adv_ucma_message fake_event(uint32_t id, uint32_t type, int status)
{
	struct adv_ucma_message m = {.id = id};

	m.body.event.type = type;
	m.body.event.status = status;
	return m;
}

/* Queues an event. Call it with the lock held. The lock is not recursive, so answer functions run
 * without it. */
static void push(uint32_t channel, const struct adv_ucma_message *m)
{
	if (fake.event_count == EVENTS || channel >= fake.channels)
		return;
	fake.events[fake.event_count].channel = channel;
	fake.events[fake.event_count++].m = *m;
	(void)!write(fake.tokens[channel], "", 1);
}

void fake_push(uint32_t channel, const struct adv_ucma_message *m)
{
	pthread_mutex_lock(&fake.lock);
	push(channel, m);
	pthread_mutex_unlock(&fake.lock);
}

static void pop(struct adv_ucma_message *m)
{
	uint32_t channel = m->channel;
	struct adv_ucma_message head = *m;

	m->result = EAGAIN;
	for (unsigned i = 0; i < fake.event_count; i++) {
		if (fake.events[i].channel != channel)
			continue;
		*m = fake.events[i].m;
		memmove(&fake.events[i], &fake.events[i + 1],
			(fake.event_count - i - 1) * sizeof(fake.events[0]));
		fake.event_count--;
		m->result = 0;
		break;
	}
	m->magic = head.magic;
	m->version = head.version;
	m->type = head.type;
	m->serial = head.serial;
}

/* Answers one request. False: the connection ends. */
static bool serve(int sock)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	struct adv_ucma_message m;
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int pair[2] = {-1, -1};
	fake_answer answer;

	if (recv(sock, &m, sizeof(m), 0) != sizeof(m))
		return false;
	pthread_mutex_lock(&fake.lock);
	fake.counts[m.type % COMMANDS]++;
	fake.last[m.type % COMMANDS] = m;
	answer = m.type == ADV_UCMA_CMD_GET_EVENT || m.type == ADV_UCMA_CMD_CREATE_CHANNEL
			 ? NULL
			 : fake.answer;
	if (m.type == ADV_UCMA_CMD_GET_EVENT)
		pop(&m);
	if (m.type == ADV_UCMA_CMD_CREATE_CHANNEL &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
		m.channel = fake.channels;
		fake.tokens[fake.channels++] = pair[0];
		msg.msg_control = room;
		msg.msg_controllen = sizeof(room);
		CMSG_FIRSTHDR(&msg)->cmsg_len = CMSG_LEN(sizeof(int));
		CMSG_FIRSTHDR(&msg)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&msg)->cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &pair[1], sizeof(int));
	}
	if (m.type == ADV_UCMA_CMD_CREATE_ID)
		m.id = ++fake.ids;
	iov.iov_len = fake.break_next ? (size_t)fake.break_next : sizeof(m);
	if (fake.break_next < 0)
		close_all();
	fake.break_next = 0;
	pthread_mutex_unlock(&fake.lock);
	if (answer)
		answer(&m);
	if (iov.iov_len <= sizeof(m))
		sendmsg(sock, &msg, MSG_NOSIGNAL);
	if (pair[1] >= 0)
		close(pair[1]);
	return iov.iov_len <= sizeof(m);
}

static void *run(void *arg)
{
	int sock = (int)(intptr_t)arg;

	while (serve(sock))
		;
	close(sock);
	return NULL;
}

/* ---- runtime/control/control.h ---- */

struct adv_control *adv_control_connect(bool start, char *why, size_t why_len)
{
	return (struct adv_control *)&fake;
}

void adv_control_close(struct adv_control *c)
{
}

void adv_control_tell_faults(struct adv_control *c)
{
}

int adv_control_open_cm(struct adv_control *c, int *fd, char *why, size_t why_len)
{
	pthread_t thread;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	pthread_mutex_lock(&fake.lock);
	fake.sock = pair[0];
	fake.connections++;
	pthread_mutex_unlock(&fake.lock);
	pthread_create(&thread, NULL, run, (void *)(intptr_t)pair[0]);
	pthread_detach(thread);
	*fd = pair[1];
	return 0;
}
