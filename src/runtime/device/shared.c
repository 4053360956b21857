/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of all devices of this process. It serves contexts that share a device, fork() and
 * exit().
 */
#include "runtime/device/shared.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sys.h"
#include "runtime/device/port.h"
#include "runtime/device/streams.h"
#include "runtime/control/forks.h"
#include "runtime/link/raw.h"
#include "runtime/link/shm.h"

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct adv_list all_devices = {&all_devices, &all_devices};
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- fork ---- */

static void before_fork(void)
{
	adv_forks_before();
	pthread_mutex_lock(&all_lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&all_lock);
	adv_forks_after_in_parent();
}

/*
 * Closes the child's copies of descriptors that only the parent may use: they would keep the
 * parent's slot, ports and connection alive after the parent's end. The child frees no memory:
 * threads that do not exist in the child may hold locks of it.
 */
static void after_fork_in_child(void)
{
	adv_list_for_each(struct adv_device, d, &all_devices, node) {
		atomic_store(&d->front.foreign, true);
		adv_control_abandon(d->control);
		adv_udp_abandon(d->udp);
		adv_device_streams_abandon(d);
		for (unsigned i = 0; i < ADV_CAPTURE_PLACES; i++)
			adv_tap_abandon(&d->tap[i]);
		if (d->port)
			adv_port_abandon(d->port);
		if (d->raw)
			adv_raw_abandon(d->raw);
		if (d->bell_fd >= 0)
			adv_sys_close(d->bell_fd);
		adv_device_thread_abandon(d);
	}
	adv_list_init(&all_devices);
	pthread_mutex_unlock(&all_lock);
	adv_forks_after_in_child();
}

static void register_fork_handlers(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void adv_device_shared_delay_forks(void)
{
	pthread_once(&fork_once, register_fork_handlers);
	adv_forks_delay();
}

/* ---- exit ---- */

/* Attempts to acquire a device's lock at exit(). The attempts fail if the holder of the lock no
 * longer runs, or if this thread holds the lock and exit() was called by a signal handler. */
#define EXIT_TRIES    1000

#define READERS_TRIES 200  /* for the processes that map shared memory soon */
#define READERS_PAUSE 1000 /* us */

/* Processes of this machine may not have mapped the memory yet in which the last packets wait. */
static void wait_for_readers(const struct adv_device *d)
{
	for (unsigned i = 0; d->shm && i < READERS_TRIES && !adv_shm_has_readers(d->shm); i++)
		usleep(READERS_PAUSE);
}

/* Acknowledges received packets of a program that ends without closing its devices, as most do. */
__attribute__((destructor)) static void before_exit(void)
{
	if (pthread_mutex_trylock(&all_lock) != 0)
		return;
	adv_list_for_each(struct adv_device, d, &all_devices, node) {
		unsigned tries = 0;

		while (!adv_lock_try(&d->lock) && ++tries < EXIT_TRIES)
			syscall(SYS_sched_yield);
		if (tries == EXIT_TRIES)
			continue;
		adv_device_send_acks(d);
		if (d->faulty)
			adv_fault_link_send_kept(d->fault);
		wait_for_readers(d);
		adv_device_publish_counters(d);
		adv_lock_release(&d->lock);
	}
	pthread_mutex_unlock(&all_lock);
}

/* ---- users ---- */

void adv_device_user_add(struct adv_device *d, struct device_user *u)
{
	adv_list_add_tail(&d->users, &u->node);
	u->number = ++d->user_numbers;
	d->user = u->user;
}

static bool is_gone(struct adv_device *d)
{
	bool gone;

	adv_lock_take(&d->lock);
	gone = d->gone || d->dead;
	adv_lock_release(&d->lock);
	return gone;
}

/* If the process has ADV_DEVICES_APART usable devices with these callbacks, returns the one of the
 * rail with the fewest users; else NULL. */
static struct adv_device *find_shared(const struct adv_device_callbacks *callbacks,
				      const struct adv_rail *rail)
{
	struct adv_device *best = NULL;
	unsigned count = 0;

	adv_list_for_each(struct adv_device, d, &all_devices, node) {
		if (d->first != d || memcmp(&d->callbacks, callbacks, sizeof(*callbacks)) != 0 ||
		    is_gone(d))
			continue;
		count++;
		if (d->rail == rail && (!best || d->opens < best->opens))
			best = d;
	}
	return count < ADV_DEVICES_APART ? NULL : best;
}

struct adv_device *adv_device_shared_join(const struct adv_device_callbacks *callbacks,
					  const struct adv_rail *rail, struct device_user *u)
{
	struct adv_device *d;

	pthread_mutex_lock(&all_lock);
	d = find_shared(callbacks, rail);
	if (d) {
		d->opens++;
		(void)adv_device_lock_all(d);
		adv_device_user_add(d, u);
		adv_device_unlock_all(d);
	}
	pthread_mutex_unlock(&all_lock);
	return d;
}

bool adv_device_shared_has_room(void)
{
	unsigned count;

	pthread_mutex_lock(&all_lock);
	count = adv_list_length(&all_devices);
	pthread_mutex_unlock(&all_lock);
	return count < ADV_DEVICES_APART;
}

void adv_device_shared_add(struct adv_device *d)
{
	pthread_mutex_lock(&all_lock);
	d->opens = 1;
	adv_list_add(&all_devices, &d->node);
	pthread_mutex_unlock(&all_lock);
}

/* Removes one of several users. */
static void remove_user(struct adv_device *d, void *user)
{
	struct adv_device *shard;
	struct adv_engine *e;

	for (unsigned i = 1; (shard = adv_device_shard(d, i)); i++) {
		e = adv_device_lock(shard);
		adv_device_send_acks(shard);
		adv_engine_release(e, user);
		adv_device_unlock(shard);
	}
	adv_device_lock(d);
	adv_device_send_acks(d);
	adv_device_unlock(d);
	e = adv_device_lock_all(d);
	adv_list_for_each_safe(struct device_user, u, &d->users, node) {
		if (u->user != user)
			continue;
		adv_list_del(&u->node);
		free(u);
		break;
	}
	d->user = adv_device_user_of(d->users.next)->user; /* at least one other user is left */
	adv_engine_release(e, user);
	adv_device_unlock_all(d);
	adv_device_settle(d);
}

static void remove_shards(struct adv_device *d)
{
	struct adv_device *shard;

	for (unsigned i = 0; (shard = adv_device_shard(d, i)); i++)
		adv_list_del(&shard->node);
}

bool adv_device_shared_leave(struct adv_device *d, void *user)
{
	bool last;

	pthread_mutex_lock(&all_lock);
	last = --d->opens == 0;
	if (last)
		remove_shards(d);
	else
		remove_user(d, user); /* all_lock is held, as the last user frees the device */
	pthread_mutex_unlock(&all_lock);
	return last;
}
