/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/export.h"
#include "abi/rdmacm/id_state.h"

/* Kept for threads that are about to wait on it. */
static _Atomic(struct adv_rdma_channel *) destroyed_last;

struct adv_rdma_channel *adv_rdma_channel_of(struct rdma_event_channel *channel)
{
	return (struct adv_rdma_channel *)channel;
}

ADV_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct adv_rdma_channel *ch = calloc(1, sizeof(*ch));
	struct adv_ucma_message m;
	int err;

	if (!ch)
		return NULL;
	ch->connection = adv_rdma_connection_get();
	if (!ch->connection) {
		err = errno;
		goto free_channel;
	}
	atomic_init(&ch->refs, 1);
	atomic_init(&ch->to_close, -1);
	adv_list_init(&ch->ids);
	ch->channel.fd = -1;
	adv_rdma_request(&m, ADV_UCMA_CMD_CREATE_CHANNEL, 0);
	adv_rdma_lock(ch->connection);
	err = adv_rdma_ask(ch->connection, &m, &ch->channel.fd);
	if (!err && ch->channel.fd < 0)
		err = ENODEV;
	if (!err) {
		ch->handle = m.channel;
		ch->waiter.fd = ch->channel.fd;
		adv_list_add_tail(&ch->connection->waiters, &ch->waiter.link);
	}
	adv_rdma_unlock(ch->connection);
	if (!err)
		return &ch->channel;
	adv_rdma_connection_put(ch->connection);
free_channel:
	free(ch);
	errno = err;
	return NULL;
}

void adv_rdma_channel_hold(struct adv_rdma_channel *ch)
{
	atomic_fetch_add(&ch->refs, 1);
}

/* Closes the socket of a destroyed channel, once. */
static void close_socket(struct adv_rdma_channel *ch)
{
	int fd = atomic_exchange(&ch->to_close, -1);

	if (fd >= 0)
		adv_sys_close(fd);
}

/* Of the thread that destroys the channel and the last reader, at least one sees what the other has
 * stored. */
static void end_reading(struct adv_rdma_channel *ch)
{
	if (atomic_fetch_sub(&ch->readers, 1) == 1 && atomic_load(&ch->closed))
		close_socket(ch);
}

int adv_rdma_channel_enter(struct adv_rdma_channel *ch)
{
	unsigned refs = atomic_load(&ch->refs);

	atomic_fetch_add(&ch->readers, 1);
	while (refs && !atomic_load(&ch->closed))
		if (atomic_compare_exchange_weak(&ch->refs, &refs, refs + 1))
			return 0;
	end_reading(ch);
	if (pthread_equal(ch->closer, pthread_self()))
		return EBADF;
	poll(NULL, 0, -1);
	return EINTR;
}

void adv_rdma_channel_release(struct adv_rdma_channel *ch)
{
	struct adv_rdma_connection *c = ch->connection;
	struct adv_ucma_message m;
	bool last;

	adv_rdma_lock(c);
	last = atomic_fetch_sub(&ch->refs, 1) == 1;
	if (last) {
		adv_rdma_request(&m, ADV_UCMA_CMD_DESTROY_CHANNEL, 0);
		m.channel = ch->handle;
		adv_rdma_ask(c, &m, NULL);
	}
	adv_rdma_unlock(c);
	if (!last)
		return;
	adv_rdma_connection_put(c);
	free(atomic_exchange(&destroyed_last, ch));
}

void adv_rdma_channel_leave(struct adv_rdma_channel *ch)
{
	end_reading(ch);
	adv_rdma_channel_release(ch);
}

/* Destroys a channel. As in the kernel, this ends the ids that are still on the channel. */
ADV_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct adv_rdma_channel *ch = adv_rdma_channel_of(channel);

	if (!channel)
		return;
	adv_rdma_lock(ch->connection);
	adv_list_for_each(struct adv_rdma_id, id, &ch->ids, of_channel)
		adv_rdma_id_end(id);
	ch->closer = pthread_self();
	atomic_store(&ch->to_close, ch->waiter.fd);
	atomic_store(&ch->closed, true);
	adv_list_del(&ch->waiter.link);
	channel->fd = -1;
	/* In a child of fork() the readers do not exist. */
	if (ch->connection->foreign || atomic_load(&ch->readers) == 0)
		close_socket(ch);
	adv_rdma_unlock(ch->connection);
	adv_rdma_channel_release(ch);
}

int adv_rdma_channel_wait(struct adv_rdma_channel *ch)
{
	uint8_t token;
	bool dead;
	int got;

	if (atomic_load(&ch->closed))
		return poll(NULL, 0, -1);
	adv_rdma_lock(ch->connection);
	dead = ch->connection->dead;
	adv_rdma_unlock(ch->connection);
	if (dead)
		return 0;
	/* libc's read() is a cancellation point: programs cancel threads that wait here. Libraries
	 * that interpose read() pass this descriptor on unchanged. */
	got = (int)read(ch->waiter.fd, &token, sizeof(token));
	if (atomic_load(&ch->closed) && !(got < 0 && errno == EINTR))
		return poll(NULL, 0, -1);
	return got;
}
