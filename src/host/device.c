/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The runtime of one device: opening, closing, progress in the caller's thread. */
#include "host/device_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "base/sys.h"
#include "host/counters.h"
#include "host/pages.h"
#include "transport/cause.h"

#define RECEIVE_BUDGET	64
#define CATCH_UP_ROUNDS 64    /* of that: more than a socket holds */
#define PUMP_NS		50000 /* so long after a call began it begins to send no more */
#define ACK_ROUNDS	16    /* of that */
#define QP_WINDOW	256 /* four batches: one is made, one sent, one received, one acknowledged */
#define TIMEOUT_TICKS	4
#define ACK_DELAY	25000	/* ns: a program that answers at once has done so by then */
#define PACE_BURST	65536	/* a thread that sleeps comes 50 us late: so much at 10 Gb/s */
#define UNRELIABLE_MBPS 4000	/* what a receiver on a busy machine still takes from its socket */
#define COUNTED_LATE	1000000 /* ns: so long what was counted may be shown later */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct adv_list all_devices = {&all_devices, &all_devices};
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

uint64_t adv_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- progress ------------------------------------------------------------------------ */

/* An application that polls for so long has not ceased to: the thread shall not take it for that.
 */
static bool is_long_enough(struct adv_device *d, uint64_t since)
{
	uint64_t now = adv_now();

	if (now - since < PUMP_NS)
		return false;
	if (d->link->busy_polled)
		atomic_store_explicit(&d->bg.last_poll, now, memory_order_relaxed);
	return true;
}

void device_pump(struct adv_device *d, uint64_t now)
{
	bool sent = false;

	if (d->pumped)
		return;
	d->cut = false;
	while (!d->link_full && adv_engine_tx_ready(d->engine)) {
		if (sent && is_long_enough(d, now)) {
			d->cut = d->pumped = true;
			return;
		}
		if (adv_engine_tx(d->engine, now, &d->batch) == 0)
			break;
		d->bg.activity++;
		d->link_full = !d->link->ops->send(d->link, &d->batch);
		sent = true;
	}
}

static void wake(int fd, uint64_t times)
{
	(void)!adv_sys_write(fd, &times, sizeof(times));
}

/* Those to be woken of fd, or NULL. */
static struct device_wake *wake_of(struct adv_device *d, int fd)
{
	for (unsigned i = 0; i < d->wake_count; i++)
		if (d->wake[i].fd == fd)
			return &d->wake[i];
	return NULL;
}

void device_wake_later(struct adv_device *d, int fd)
{
	struct device_wake *w = wake_of(d, fd);

	if (fd < 0)
		return;
	if (w)
		w->times++;
	else if (d->wake_count < DEVICE_WAKES)
		d->wake[d->wake_count++] = (struct device_wake){fd, 1};
	else
		wake(fd, 1);
}

bool device_wake_not(struct adv_device *d, int fd)
{
	struct device_wake *w = wake_of(d, fd);

	if (!w)
		return false;
	if (--w->times == 0)
		*w = d->wake[--d->wake_count];
	return true;
}

/* The application is told that there was an error, but not which. */
static void log_error(const struct adv_event *event)
{
	if (event->why && event->qp)
		adv_warn("queue pair 0x%06x: %s (cause %u)", adv_qp_num(event->qp),
			 adv_cause(event->why)->text, event->why);
	else if (event->why)
		adv_warn("%s (cause %u)", adv_cause(event->why)->text, event->why);
}

void device_deliver_events(struct adv_device *d)
{
	struct adv_event event;

	while (adv_engine_event(d->engine, &event)) {
		if (event.kind == ADV_EVENT_COMPLETION) {
			device_wake_later(d, d->callbacks.completion(d->user, event.cq));
			continue;
		}
		log_error(&event);
		device_wake_later(d, d->callbacks.async(d->user, &event));
	}
}

/* Shows what was counted to the daemon. */
static void show_counters(struct adv_device *d)
{
	struct adv_counters *c = (struct adv_counters *)(void *)d->counters;

	d->count_anew = false;
	d->counters_at = d->now;
	d->counters_written = d->bg.activity;
	if (!c)
		return;
	c->engine = *adv_engine_counters(d->engine);
	c->link = d->link->counters;
}

void device_release(struct adv_device *d)
{
	struct device_wake wakes[DEVICE_WAKES];
	unsigned n;

	if (d->count_anew)
		show_counters(d);
	if (adv_engine_has_event(d->engine))
		device_deliver_events(d);
	n = d->wake_count;
	if (n == 0) {
		adv_lock_release(&d->lock);
		return;
	}
	memcpy(wakes, d->wake, n * sizeof(wakes[0]));
	d->wake_count = 0;
	atomic_fetch_add(&d->waking, 1);
	adv_lock_release(&d->lock);
	for (unsigned i = 0; i < n; i++)
		wake(wakes[i].fd, wakes[i].times);
	atomic_fetch_sub(&d->waking, 1);
}

void adv_device_settle(struct adv_device *d)
{
	while (!adv_device_is_foreign(d) && atomic_load(&d->waking))
		syscall(SYS_sched_yield);
}

struct receiving {
	struct adv_device *device;
	const struct adv_cq *cq; /* see adv_device_poll(); NULL */
	unsigned wanted;
};

static void take_packet(void *user, const struct adv_rx_packet *pkt)
{
	const struct receiving *r = user;
	struct adv_device *d = r->device;

	adv_engine_rx(d->engine, d->now, pkt);
	if (r->cq && adv_cq_count(r->cq) >= r->wanted)
		d->link->enough = true;
}

/* Twice there, once for each caller: to find nothing is done all the time. */
static inline __attribute__((always_inline)) unsigned progress(struct adv_device *d,
							       struct receiving *r, bool polling)
{
	unsigned packets;

	d->now = adv_now();
	if (polling)
		atomic_store_explicit(&d->bg.last_poll, d->now, memory_order_relaxed);
	d->link->busy_polled = polling;
	d->pumped = false;
	if (d->held)
		device_hold_end(d, d->now);
	if (d->link_full)
		d->link_full = !d->link->ops->flush(d->link);
	d->link->enough = false;
	packets = d->link->ops->receive(d->link, RECEIVE_BUDGET, take_packet, r);
	d->bg.activity += packets;
	if (d->faulty) /* the link had its look at the clock: what it has found due is so now */
		device_fault_look(d, adv_now());
	if (adv_engine_deadline(d->engine) <= d->now) {
		adv_engine_expire(d->engine, d->now);
		d->count_anew = true;
	}
	device_pump(d, d->now);
	if (d->counters_written != d->bg.activity && d->now - d->counters_at >= COUNTED_LATE)
		d->count_anew = true;
	return packets;
}

unsigned adv_device_progress(struct adv_device *d, bool polling)
{
	struct receiving r = {.device = d};

	return progress(d, &r, polling);
}

void adv_device_catch_up(struct adv_device *d)
{
	device_read_notices(d); /* the memory of a peer that writes already may be among them */
	for (unsigned i = 0; i < CATCH_UP_ROUNDS && adv_device_progress(d, false) > 0; i++)
		adv_lock_give_way(&d->lock);
}

void adv_device_poll(struct adv_device *d, const struct adv_cq *cq, unsigned wanted)
{
	struct receiving r = {d, cq, wanted};

	progress(d, &r, true);
}

void adv_device_polled(struct adv_device *d)
{
	atomic_store_explicit(&d->bg.polled, true, memory_order_relaxed);
}

struct adv_engine *adv_device_lock(struct adv_device *d)
{
	adv_lock_take(&d->lock);
	d->now = 0;
	d->pumped = false;
	return d->engine;
}

uint64_t adv_device_now(struct adv_device *d)
{
	if (!d->now)
		d->now = adv_now();
	return d->now;
}

void adv_device_unlock(struct adv_device *d)
{
	bool posted = !d->pumped && adv_engine_tx_ready(d->engine);

	if (posted) {
		d->held = 0;
		device_pump(d, adv_device_now(d));
		atomic_store_explicit(&d->bg.last_post, adv_now(), memory_order_relaxed);
	}
	if (d->bg.judging)
		device_thread_judge(d, posted);
	device_thread_see_to(d);
	device_release(d);
}

void adv_device_unlock_unchanged(struct adv_device *d)
{
	if (d->bg.judging || d->count_anew || adv_engine_tx_ready(d->engine))
		adv_device_unlock(d);
	else
		adv_lock_release(&d->lock);
}

void adv_device_send_acks(struct adv_device *d)
{
	d->pumped = false;
	if (adv_engine_hasten_acks(d->engine) || d->held)
		device_hold_end(d, adv_now());
	/* They have their turn behind what other queue pairs have to send. */
	for (unsigned i = 0; d->cut && i < ACK_ROUNDS; i++) {
		adv_lock_give_way(&d->lock);
		d->pumped = false;
		device_pump(d, adv_now());
	}
}

/* ---- addresses ----------------------------------------------------------------------- */

/* Takes the daemon's table over into the engine and the link. Returns 0 or errno. */
static int load_gids(struct adv_device *d)
{
	struct adv_engine_gid gids[ADV_GID_TABLE_ENTRIES];
	struct adv_udp_address addresses[ADV_GID_TABLE_ENTRIES];
	struct adv_gid_table t;
	int err;

	if (!adv_gid_table_read(adv_control_gids(d->control), &t))
		return EAGAIN;
	for (unsigned i = 0; i < t.count; i++) {
		gids[i].gid = t.entry[i].gid;
		gids[i].mtu = t.entry[i].path_mtu;
		addresses[i].gid = t.entry[i].gid;
		addresses[i].ifindex = t.entry[i].ifindex;
	}
	err = adv_engine_set_gids(d->engine, gids, t.count);
	if (!err)
		err = adv_udp_set_addresses(d->udp, addresses, t.count);
	if (err)
		return err;
	adv_engine_set_line_rate(d->engine, device_line_rate(&t));
	pthread_mutex_lock(&d->gids_lock);
	d->gids = t;
	pthread_mutex_unlock(&d->gids_lock);
	return 0;
}

static struct device_user *user_of(struct adv_list *n)
{
	return adv_container_of(n, struct device_user, node);
}

void device_tell_of_port(struct adv_device *d, enum ibv_event_type type)
{
	for (struct adv_list *n = d->users.next; n != &d->users; n = n->next)
		device_wake_later(d, d->callbacks.port(user_of(n)->user, type));
}

static void gids_changed(struct adv_device *d)
{
	bool was_active = d->gids.port_active;
	int err = load_gids(d);

	if (err) {
		adv_warn("the table of addresses has changed but cannot be taken over: %s",
			 strerror(err));
		return;
	}
	device_tell_of_port(d, IBV_EVENT_GID_CHANGE);
	if (was_active != (bool)d->gids.port_active)
		device_tell_of_port(d, was_active ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
}

void device_read_notices(struct adv_device *d)
{
	while (!d->gone) {
		switch (adv_control_read(d->control)) {
		case ADV_NOTICE_NONE:
			return;
		case ADV_NOTICE_GIDS_CHANGED:
		case ADV_NOTICE_PORT_CHANGED:
			gids_changed(d);
			break;
		case ADV_NOTICE_PAIRS_CHANGED:
			device_pairs_changed(d);
			break;
		case ADV_NOTICE_FAULT:
			device_serve_tool(d);
			break;
		case ADV_NOTICE_GONE:
			d->gone = true;
			(void)adv_sys_epoll_ctl(d->bg.epoll_fd, EPOLL_CTL_DEL,
						adv_control_fd(d->control), NULL);
			adv_error("the daemon has ended: addresses and connections are no longer "
				  "looked after");
			device_tell_of_port(d, IBV_EVENT_DEVICE_FATAL);
			break;
		}
	}
}

void adv_device_gids(struct adv_device *d, struct adv_gid_table *copy)
{
	pthread_mutex_lock(&d->gids_lock);
	*copy = d->gids;
	pthread_mutex_unlock(&d->gids_lock);
	if (atomic_load(&d->port_down))
		copy->port_active = 0;
}

static uint32_t ifindex_of(const struct adv_device *d, const struct adv_gid *gid)
{
	for (unsigned i = 0; i < d->gids.count; i++)
		if (adv_gid_equal(&d->gids.entry[i].gid, gid))
			return d->gids.entry[i].ifindex;
	return 0;
}

static struct device_group *group_of(struct adv_device *d, const struct adv_gid *gid,
				     uint32_t ifindex)
{
	for (unsigned i = 0; i < d->group_count; i++)
		if (d->group[i].ifindex == ifindex && adv_gid_equal(&d->group[i].gid, gid))
			return &d->group[i];
	return NULL;
}

int adv_device_join(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid)
{
	uint32_t ifindex = ifindex_of(d, sgid);
	struct device_group *g = group_of(d, group, ifindex);
	int err;

	if (!ifindex)
		return ENODEV;
	if (g) {
		g->joins++;
		return 0;
	}
	if (d->group_count == ADV_SLOT_GROUPS)
		return ENOBUFS;
	err = adv_control_join(d->control, &d->slot, group, ifindex);
	if (!err)
		d->group[d->group_count++] = (struct device_group){*group, ifindex, 1};
	return err;
}

int adv_device_leave(struct adv_device *d, const struct adv_gid *group, const struct adv_gid *sgid)
{
	uint32_t ifindex = ifindex_of(d, sgid);
	struct device_group *g = group_of(d, group, ifindex);

	if (!ifindex)
		return ENODEV;
	if (g && --g->joins > 0)
		return 0;
	if (g)
		*g = d->group[--d->group_count];
	return adv_control_leave(d->control, &d->slot, group, ifindex);
}

int adv_device_probe(struct adv_gid_table *copy)
{
	char why[256] = "";
	struct adv_control *c = adv_control_connect(true, why, sizeof(why));
	int err = 0;

	if (!c) {
		err = errno;
		adv_error("no device: %s", why);
		return err;
	}
	if (!adv_gid_table_read(adv_control_gids(c), copy))
		err = EAGAIN;
	adv_control_close(c);
	return err;
}

/* ---- fork ---------------------------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&all_lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&all_lock);
}

/*
 * The child has copies of descriptors that only the parent may drive, and that would keep the
 * parent's slot, ports and connection alive after its end: they are closed. Memory is left as it
 * is, its locks may be held by threads that the child does not have.
 */
static void after_fork_in_child(void)
{
	struct adv_list *n;

	for (n = all_devices.next; n != &all_devices; n = n->next) {
		struct adv_device *d = adv_container_of(n, struct adv_device, node);

		atomic_store(&d->foreign, true);
		adv_control_abandon(d->control);
		adv_udp_abandon(d->udp);
		if (d->bell_fd >= 0)
			adv_sys_close(d->bell_fd);
		device_thread_abandon(d);
	}
	adv_list_init(&all_devices);
	pthread_mutex_unlock(&all_lock);
}

static void register_fork_handlers(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

bool adv_device_is_foreign(const struct adv_device *d)
{
	return atomic_load_explicit(&d->foreign, memory_order_relaxed);
}

/* ---- exit ----------------------------------------------------------------------------- */

#define EXIT_TRIES                                                                                 \
	1000 /* a lock whose holder is gone, or is us in a signal handler, stays taken             \
	      */

/* A program that ends without closing anything, as most do, has received what it has received. */
__attribute__((destructor)) static void before_exit(void)
{
	if (pthread_mutex_trylock(&all_lock) != 0)
		return;
	for (struct adv_list *n = all_devices.next; n != &all_devices; n = n->next) {
		struct adv_device *d = adv_container_of(n, struct adv_device, node);
		unsigned tries = 0;

		while (!adv_lock_try(&d->lock) && ++tries < EXIT_TRIES)
			syscall(SYS_sched_yield);
		if (tries == EXIT_TRIES)
			continue;
		adv_device_send_acks(d);
		if (d->faulty)
			adv_fault_link_send_kept(d->link);
		show_counters(d);
		adv_lock_release(&d->lock);
	}
	pthread_mutex_unlock(&all_lock);
}

/* ---- open and close ------------------------------------------------------------------ */

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
	};
	unsigned room = d->link->rx_window - d->link->rx_window / 4;

	if (room == 0)
		room = 1;
	/* The peer's receive buffer is taken to be like ours: no more than it holds is sent. */
	config.window = room < QP_WINDOW ? room : QP_WINDOW;
	config.total_window = room;
	if (getrandom(config.seed, sizeof(config.seed), 0) != sizeof(config.seed))
		return EIO;
	d->engine = adv_engine_create(&config);
	return d->engine ? 0 : errno;
}

/* Fills in why, where that is not plain from the error. */
static int create_link(struct adv_device *d, char *why, size_t why_len)
{
	struct adv_udp_config config = {
		.receive_fd = d->slot.receive_fd,
		.qpn_first = d->slot.qpn_first,
		.qpn_count = d->slot.qpn_count,
		.sender = true,
	};

	d->link = d->udp = adv_udp_create(&config);
	if (!d->udp) {
		int err = errno;

		snprintf(why, why_len, "the UDP socket is refused an option: %s", strerror(err));
		return err;
	}
	device_peers_init(d);
	d->link = d->shm ? d->shm : d->udp;
	return 0;
}

/* Without it, all works but that the sums for the machine lack this process. */
static void count(struct adv_device *d)
{
	int err;

	adv_lock_take(&d->lock);
	err = adv_control_count(d->control, &d->slot, &d->counters);
	d->count_anew = true;
	adv_lock_release(&d->lock);
	if (err)
		adv_warn("counters are not shown to the daemon: %s", strerror(err));
}

/* Fills d; on failure says why in a line, and leaves what was made to the caller to free. */
static int assemble(struct adv_device *d, char *why, size_t why_len)
{
	struct adv_cc_config cc;
	int err = device_congestion_read(&cc, why, why_len);

	if (err)
		return err;
	d->control = adv_control_connect(true, why, why_len);
	if (!d->control)
		return errno;
	err = adv_control_open_slot(d->control, &d->slot, why, why_len);
	if (err)
		return err;
	err = create_link(d, why, why_len);
	if (err)
		return err;
	err = create_engine(d, &cc);
	if (!err)
		err = adv_control_sender(d->control, &d->slot, adv_udp_sender(d->udp));
	if (!err)
		adv_engine_set_senders(d->engine, adv_control_senders(d->control)->port,
				       adv_control_senders(d->control)->home);
	if (!err)
		err = load_gids(d);
	if (err) {
		snprintf(why, why_len, "%s", strerror(err));
		return err;
	}
	err = device_fault_start(d, why, why_len);
	if (err)
		return err;
	err = device_thread_start(d);
	if (err)
		snprintf(why, why_len, "%s", strerror(err));
	else
		count(d);
	return err;
}

/* One more block of QP numbers for engine and link. 0 or errno, with a line in why. */
static int add_block(struct adv_device *d, uint32_t *first, char *why, size_t why_len)
{
	int err = adv_control_open_block(d->control, &d->slot, first, why, why_len);

	if (err)
		return err;
	err = adv_udp_add_qpns(d->udp, *first, ADV_BLOCK_QPNS);
	if (!err)
		err = adv_engine_add_qpns(d->engine, *first, ADV_BLOCK_QPNS);
	if (err)
		snprintf(why, why_len, "%s", strerror(err));
	return err;
}

/* `left`: numbers there are still. */
static void reserve(struct adv_device *d, uint32_t left)
{
	uint32_t first = 0;
	char why[256] = "";

	if (d->block_count == ADV_DEVICE_BLOCKS || (d->blocks_refused && left))
		return;
	d->blocks_refused = add_block(d, &first, why, sizeof(why)) != 0;
	if (d->blocks_refused) {
		adv_warn("no more queue pair numbers: %s", why);
		return;
	}
	d->block_count++;
	adv_info("a block more: queue pair numbers from 0x%06x on", first);
}

void adv_device_reserve_qpn(struct adv_device *d)
{
	uint32_t left = adv_engine_qpns_left(d->engine);

	if (left < ADV_QPNS_RESTING)
		reserve(d, left);
}

void adv_device_reserve_srqn(struct adv_device *d)
{
	if (adv_engine_srqns_left(d->engine) == 0)
		reserve(d, 0);
}

static void free_device(struct adv_device *d)
{
	if (d->engine && d->link)
		show_counters(d);
	if (d->engine)
		adv_engine_destroy(d->engine);
	if (d->link)
		d->link->ops->destroy(d->link);
	adv_control_close(d->control);
	while (!adv_list_empty(&d->users)) {
		struct device_user *u = user_of(d->users.next);

		adv_list_del(&u->node);
		free(u);
	}
	pthread_mutex_destroy(&d->gids_lock);
	free(d);
}

static void add_user(struct adv_device *d, struct device_user *u)
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

/* Of the devices of this process, where it has enough of them, the one that the fewest use; NULL.
 * `u` does so from now on. */
static struct adv_device *take_shared(const struct adv_device_callbacks *callbacks,
				      struct device_user *u)
{
	struct adv_device *best = NULL;
	unsigned count = 0;

	pthread_mutex_lock(&all_lock);
	for (struct adv_list *n = all_devices.next; n != &all_devices; n = n->next) {
		struct adv_device *d = adv_container_of(n, struct adv_device, node);

		if (memcmp(&d->callbacks, callbacks, sizeof(*callbacks)) != 0 || is_gone(d))
			continue;
		count++;
		if (!best || d->opens < best->opens)
			best = d;
	}
	if (count < ADV_DEVICES_APART)
		best = NULL;
	if (best) {
		best->opens++;
		adv_lock_take(&best->lock);
		add_user(best, u);
		adv_lock_release(&best->lock);
	}
	pthread_mutex_unlock(&all_lock);
	return best;
}

/* A device of its own. NULL with errno, and a line in why. */
static struct adv_device *open_apart(const struct adv_device_callbacks *callbacks,
				     struct device_user *u, char *why, size_t why_len)
{
	struct adv_device *d = calloc(1, sizeof(*d));
	int err;

	if (!d) {
		snprintf(why, why_len, "%s", strerror(ENOMEM));
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&d->gids_lock, NULL);
	adv_list_init(&d->users);
	d->callbacks = *callbacks;
	d->opens = 1;
	add_user(d, u);
	err = assemble(d, why, why_len);
	if (err) {
		free_device(d);
		errno = err;
		return NULL;
	}
	pthread_mutex_lock(&all_lock);
	adv_list_add(&all_devices, &d->node);
	pthread_mutex_unlock(&all_lock);
	return d;
}

struct adv_device *adv_device_open(const struct adv_device_callbacks *callbacks, void *user)
{
	struct device_user *u = calloc(1, sizeof(*u));
	struct adv_device *d = NULL;
	char why[ADV_CC_TEXT] = "";
	int err = ENOMEM;

	pthread_once(&fork_once, register_fork_handlers);
	if (u) {
		u->user = user;
		d = take_shared(callbacks, u);
	}
	if (u && !d) {
		d = open_apart(callbacks, u, why, sizeof(why));
		err = errno;
	}
	if (!d) {
		adv_error("cannot open the device: %s", u ? why : strerror(err));
		errno = err;
	}
	return d;
}

/* One of those who use the device does so no more. */
static void leave(struct adv_device *d, void *user)
{
	struct adv_engine *e = adv_device_lock(d);

	for (struct adv_list *n = d->users.next; n != &d->users; n = n->next) {
		struct device_user *u = user_of(n);

		if (u->user != user)
			continue;
		adv_list_del(&u->node);
		free(u);
		break;
	}
	d->user = user_of(d->users.next)->user; /* there is another, or this were the last */
	adv_device_send_acks(d);
	adv_engine_release(e, user);
	adv_device_unlock(d);
	adv_device_settle(d);
}

void adv_device_close(struct adv_device *d, void *user)
{
	bool last;

	if (adv_device_is_foreign(d))
		return;
	pthread_mutex_lock(&all_lock);
	last = --d->opens == 0;
	if (last)
		adv_list_del(&d->node);
	else
		leave(d, user); /* with all_lock held: the last one frees the device */
	pthread_mutex_unlock(&all_lock);
	if (!last)
		return;
	adv_lock_take(&d->lock);
	adv_device_send_acks(d);
	adv_lock_release(&d->lock);
	device_thread_stop(d);
	free_device(d);
}
