/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens and closes a device. */
#include "runtime/device/shared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "runtime/device/port.h"
#include "runtime/device/raw.h"
#include "runtime/device/streams.h"
#include "runtime/control/forks.h"
#include "runtime/identity/identity.h"
#include "runtime/identity/pkeys.h"
#include "runtime/identity/iwarp_options.h"
#include "runtime/device/pages.h"

/* Limit of packets in flight of a QP: four batches. At a time, one batch is built, one is sent, one
 * is received and one is acknowledged. */
#define QP_WINDOW	    256
#define TIMEOUT_TICKS	    4
#define ACK_DELAY	    25000 /* ns; a program that responds at once has responded by then */
#define PACE_BURST	    65536 /* bytes of 50 us at 10 Gb/s: a sleeping thread wakes that late */
#define NO_LATENCY_VARIABLE "ADVERB_NO_LATENCY" /* do not measure the latency of completions */
#define PARANOID_VARIABLE   "ADVERB_PARANOID"	/* check the engine's invariants after each call */
#define UNRELIABLE_MBPS	    4000 /* rate at which a receiver on a busy machine still reads */

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

static int create_engine(struct adv_device *d, const struct adv_cc_config *cc)
{
	struct adv_engine_config config = {
		.qpn_first = d->slot.qpn_first,
		.qpn_count = d->slot.qpn_count,
		.timeout_ticks = TIMEOUT_TICKS,
		.unreliable_mbps = UNRELIABLE_MBPS,
		.ack_delay = ACK_DELAY,
		.local_credit = true,
		.cc = cc,
		.pace_burst = PACE_BURST,
		.local_memory = d->shm != NULL,
		.page_in = adv_pages_in,
		.no_latency = is_set(NO_LATENCY_VARIABLE),
		.protocol = d->streams ? adv_device_streams_protocol() : NULL,
		.no_fast_path = d->streams || d->v1,
	};
	unsigned room = d->link->rx_window - d->link->rx_window / 4;
	int err;

	adv_device_port_time(d, &config);
	if (room == 0)
		room = 1;
	/* The peer's receive buffer is assumed to be as large as this device's. */
	config.window = room < QP_WINDOW ? room : QP_WINDOW;
	config.total_window = room;
	if (getrandom(config.seed, sizeof(config.seed), 0) != sizeof(config.seed))
		return EIO;
	if (d->first != d) {
		adv_device_shards_lock(d->first);
		config.shares = d->first->engine;
	}
	d->engine = adv_engine_create(&config);
	err = errno;
	if (d->engine) {
		adv_device_peers_engine(d);
		if (d->first != d)
			adv_device_shards_add(d->first, d);
	}
	if (d->first != d)
		adv_device_shards_unlock(d->first);
	return d->engine ? 0 : err;
}

/* Creates the links. 0 or errno. Sets why if the errno does not explain the failure. */
static int create_link(struct adv_device *d, char *why, size_t why_len)
{
	struct adv_udp_config config = {
		.receive_fd = d->slot.receive_fd,
		.qpn_first = d->slot.qpn_first,
		.qpn_count = d->slot.qpn_count,
		.sender = true,
	};

	int err;

	d->link = d->udp = adv_udp_create(&config);
	if (!d->udp) {
		err = errno;
		snprintf(why, why_len, "an option of the UDP socket is refused: %s", strerror(err));
		return err;
	}
	d->receive_fd = d->slot.receive_fd;
	if (adv_transport() == ADV_TRANSPORT_IWARP) {
		err = adv_device_streams_start(d);
		if (err)
			return err;
	}
	adv_device_peers_init(d);
	err = adv_device_port_start(d, why, why_len);
	if (!err)
		err = adv_device_raw_start(d, why, why_len);
	for (unsigned i = 0; i < ADV_CAPTURE_PLACES; i++)
		adv_tap_init(&d->tap[i]);
	adv_device_stack_links(d);
	return err;
}

/* Gets the page of counters. A failure is only logged: the machine's sums then do not include this
 * process. */
static void start_counters(struct adv_device *d)
{
	int err = adv_control_count(d->control, &d->slot, &d->counters);

	d->counters_due = true;
	if (err)
		adv_warn("adverbd cannot read this process's counters: %s", strerror(err));
	else
		adv_device_publish_latency(d);
}

/* Fills d. 0, or errno with a line in why; the caller then frees what d holds. */
static int assemble_device(struct adv_device *d, char *why, size_t why_len)
{
	struct adv_cc_config cc;
	int err = adv_device_congestion_read(&cc, why, why_len);

	if (!err && !adv_iwarp_options_check(why, why_len))
		err = EINVAL;
	if (!err && adv_transport() == ADV_TRANSPORT_UNKNOWN) {
		snprintf(why, why_len,
			 ADV_TRANSPORT_VARIABLE ": '%s' is none of " ADV_TRANSPORT_NAMES,
			 getenv(ADV_TRANSPORT_VARIABLE));
		err = EINVAL;
	}
	if (err)
		return err;
	d->control = adv_control_connect(true, why, why_len);
	if (!d->control)
		return errno;
	err = adv_control_open_slot(d->control, d->rail ? d->rail->name : ADV_DEVICE_NAME, &d->slot,
				    why, why_len);
	if (err)
		return err;
	err = create_link(d, why, why_len);
	if (err)
		return err;
	err = create_engine(d, &cc);
	d->paranoid = !err && is_set(PARANOID_VARIABLE);
	if (!err)
		err = adv_control_sender(d->control, &d->slot, adv_udp_sender(d->udp));
	if (!err)
		adv_engine_set_senders(d->engine, adv_control_senders(d->control)->port,
				       adv_control_senders(d->control)->home);
	if (!err)
		err = adv_device_load_gids(d);
	if (err) {
		snprintf(why, why_len, "%s", strerror(err));
		return err;
	}
	if (d->first == d && !adv_pkeys_are_wanted(&d->gids.pkeys, why, why_len))
		adv_error("%s", why);
	err = adv_device_fault_start(d, why, why_len);
	if (err)
		return err;
	start_counters(d);
	adv_control_attend(d->control);
	err = adv_device_thread_start(d);
	if (err)
		snprintf(why, why_len, "%s", strerror(err));
	return err;
}

/* Destroys the engine. That of a further shard leaves those that share its regions. */
static void free_engine(struct adv_device *d)
{
	if (!d->engine)
		return;
	if (d->first != d)
		adv_device_shards_lock(d->first);
	adv_engine_destroy(d->engine);
	d->engine = NULL;
	if (d->first != d) {
		adv_device_shards_drop(d->first);
		adv_device_shards_unlock(d->first);
	}
}

static void free_device(struct adv_device *d)
{
	if (d->engine && d->link)
		adv_device_publish_counters(d);
	free_engine(d);
	if (d->link)
		d->link->ops->destroy(d->link);
	adv_control_close(d->control);
	while (!adv_list_empty(&d->users)) {
		struct device_user *u = adv_device_user_of(d->users.next);

		adv_list_del(&u->node);
		free(u);
	}
	pthread_mutex_destroy(&d->gids_lock);
	pthread_mutex_destroy(&d->groups_lock);
	if (d->first == d)
		pthread_mutex_destroy(&d->shards.lock);
	free(d);
}

/* Opens a new device of a rail for the user u, or a shard of the device `first` if that is not
 * NULL. NULL with errno, and a line in why. */
static struct adv_device *open_new(const struct adv_device_callbacks *callbacks,
				   const struct adv_rail *rail, struct device_user *u,
				   struct adv_device *first, char *why, size_t why_len)
{
	struct adv_device *d = calloc(1, sizeof(*d));
	int err;

	if (!d) {
		snprintf(why, why_len, "%s", strerror(ENOMEM));
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&d->gids_lock, NULL);
	pthread_mutex_init(&d->groups_lock, NULL);
	adv_list_init(&d->users);
	d->callbacks = *callbacks;
	d->rail = rail;
	if (first)
		d->first = first;
	else
		adv_device_shards_init(d);
	if (u)
		adv_device_user_add(d, u);
	err = assemble_device(d, why, why_len);
	if (err) {
		free_device(d);
		errno = err;
		return NULL;
	}
	adv_device_shared_add(d);
	return d;
}

struct adv_device *adv_device_open(const struct adv_device_callbacks *callbacks, void *user,
				   const struct adv_rail *rail)
{
	struct device_user *u = calloc(1, sizeof(*u));
	struct adv_device *d = NULL;
	char why[ADV_CC_TEXT] = "";
	int err = ENOMEM;

	adv_device_shared_delay_forks();
	if (u) {
		u->user = user;
		d = adv_device_shared_join(callbacks, rail, u);
	}
	if (u && !d) {
		d = open_new(callbacks, rail, u, NULL, why, sizeof(why));
		err = errno;
	}
	adv_forks_allow();
	if (d) {
		struct adv_gid_table gids;

		adv_device_gids(d, &gids); /* the background thread may load them again */
		adv_info("device open: slot %u, %u GIDs (adverb devinfo lists them)",
			 d->slot.number, gids.count);
	}
	if (!d) {
		adv_error("cannot open the device: %s", u ? why : strerror(err));
		errno = err;
	}
	return d;
}

bool adv_device_open_shard(struct adv_device *first)
{
	char why[ADV_CC_TEXT] = "";
	struct adv_device *d;

	adv_device_shared_delay_forks();
	d = open_new(&first->callbacks, first->rail, NULL, first, why, sizeof(why));
	adv_forks_allow();
	if (d)
		adv_info("slot %u: a shard for one more thread, slot %u", first->slot.number,
			 d->slot.number);
	else
		adv_info("slot %u: no shard for one more thread: %s", first->slot.number, why);
	return d != NULL;
}

/* Stops the threads of the device and its shards, and frees it. */
static void end_device(struct adv_device *d)
{
	struct adv_device *shard;

	for (unsigned i = 0; (shard = adv_device_shard(d, i)); i++) {
		adv_lock_take(&shard->lock);
		adv_device_send_acks(shard);
		adv_lock_release(&shard->lock);
		adv_device_thread_stop(shard);
	}
	for (unsigned i = atomic_load(&d->shards.ready); i-- > 0;)
		free_device(d->shards.shard[i]);
}

void adv_device_close(struct adv_device *d, void *user)
{
	if (adv_device_is_foreign(d))
		return;
	adv_device_shared_delay_forks();
	if (adv_device_shared_leave(d, user))
		end_device(d);
	adv_forks_allow();
}

int adv_device_probe(struct adv_gid_table *copy, const struct adv_rail_list **rails)
{
	char why[ADV_RAILS_WHY] = "";
	struct adv_control *c;
	int err = 0;

	adv_device_shared_delay_forks();
	c = adv_control_connect(true, why, sizeof(why));
	if (!c)
		err = errno;
	else if (!adv_gid_table_read(adv_control_gids(c), copy))
		err = EAGAIN;
	adv_control_close(c);
	adv_forks_allow();
	if (!err) {
		*rails = adv_rail_list_get(copy, why, sizeof(why));
		err = *rails ? 0 : EINVAL;
	}
	if (err && *why)
		adv_error("no device: %s", why);
	return err;
}
