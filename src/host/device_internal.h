/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the runtime share. */
#ifndef ADV_HOST_DEVICE_INTERNAL_H
#define ADV_HOST_DEVICE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "host/control.h"
#include "host/device.h"
#include "host/lock.h"
#include "host/progress.h"
#include "link/fault_link.h"
#include "link/udp.h"

#define DEVICE_WAKES 32

/* What the background thread sleeps on. */
enum device_source {
	DEVICE_SOURCE_KICK,
	DEVICE_SOURCE_RECEIVE,
	DEVICE_SOURCE_BELL,
	DEVICE_SOURCE_CONTROL,
	DEVICE_SOURCE_SEND,
	DEVICE_SOURCES,
};

/* The background thread, device_thread.c. */
struct device_thread {
	pthread_t thread;
	int epoll_fd;
	int kick_fd; /* eventfd: wakes it */
	int send_fd; /* the full send socket if it is in the epoll set, else -1 */
	atomic_bool stop;
	bool coarse; /* it sleeps for whole milliseconds, as the kernel offers nothing finer */
};

/* Threads of the program in adv_device_wait(), device_wait.c. */
struct device_waiting {
	unsigned count;
	pthread_t receiver; /* valid while a waiting thread receives */
	int fd;		    /* eventfd: wakes the receiver */
};

/* An eventfd that is signalled when the lock is free. */
struct device_wake {
	int fd;
	uint32_t times;
};

/* A multicast group that the slot's socket is in. */
struct device_group {
	struct adv_gid gid;
	uint32_t ifindex;
	unsigned joins;
};

/* One of those who have it open. */
struct device_user {
	struct adv_list node;
	void *user;
	uint32_t number; /* rising */
};

static inline struct device_user *device_user_of(struct adv_list *n)
{
	return adv_container_of(n, struct device_user, node);
}

struct adv_device {
	struct adv_lock lock;
	struct adv_engine *engine;
	uint64_t now; /* the clock as read since the lock was taken; 0: not read */
	struct adv_link *link;
	struct adv_link *udp;		/* the link itself, or the innermost */
	struct adv_link *shm;		/* the one round it, or NULL */
	int bell_fd;			/* of that, see link/bell.h, for who sleeps; -1: none */
	uint8_t met[ADV_SLOTS / 8];	/* bits of slots: peers that we have asked for ... */
	uint8_t refused[ADV_SLOTS / 8]; /* ... in vain, as there are too many */
	struct adv_control *control;
	struct adv_slot slot;
	unsigned block_count; /* that it has got */
	bool blocks_refused;  /* there was none more to be had */
	struct adv_device_callbacks callbacks;
	void *user;	       /* one of `users` */
	struct adv_list users; /* struct device_user */
	uint32_t user_numbers; /* given to these */
	unsigned opens;	       /* number of users; under the lock of device_shared.c */
	unsigned group_count;
	struct device_group group[ADV_SLOT_GROUPS];
	bool link_full;
	bool cut;	       /* there was more to send than one call may, see device_pump() */
	bool pumped;	       /* ... and it was this one, since the lock was taken */
	unsigned held;	       /* small requests posted and not sent yet ... */
	uint64_t held_since;   /* ... the first of them */
	unsigned activity;     /* counts packets in both directions */
	bool faulty;	       /* there is a fault plan: the link is wrapped by it */
	bool dead;	       /* the plan says so, and it was told */
	atomic_bool port_down; /* the plan says so */
	bool gone;	       /* the daemon is */
	struct adv_progress progress;
	struct device_thread bg;
	struct device_waiting waiting;
	struct adv_list node; /* of all devices of the process */
	atomic_bool foreign;
	pthread_mutex_t gids_lock; /* innermost */
	struct adv_gid_table gids;
	uint64_t *counters;	   /* where the daemon reads what was counted; NULL: nowhere */
	unsigned counters_written; /* `activity` then */
	uint64_t counters_at;	   /* when that was */
	bool counters_due;
	unsigned wake_count; /* descriptors to write to when the lock is given up */
	struct device_wake wake[DEVICE_WAKES];
	atomic_uint waking; /* threads that have given it up and are writing */
	struct adv_tx_batch batch;
};

/* Starts the thread; 0 or errno. Needs the link and the control connection. */
int device_thread_start(struct adv_device *d);
/* In a child of fork(), which has no such thread: closes the copies of its descriptors. */
void device_thread_abandon(struct adv_device *d);
/* Ends it and waits for that. */
void device_thread_stop(struct adv_device *d);

/* device_actions.c. With the lock held: carries out actions, enum adv_progress_action. */
void device_perform(struct adv_device *d, unsigned actions);
/* Changes the epoll set of the background thread as epoll_ctl() does. The second function is for
 * the UDP socket, whose packets wake the thread if `armed`. */
int device_watch(struct adv_device *d, int op, int fd, uint32_t events, enum device_source source);
int device_watch_receive(struct adv_device *d, int op, bool armed);

static inline uint64_t device_or_link_deadline(const struct adv_device *d, uint64_t engine)
{
	return d->link->deadline && d->link->deadline < engine ? d->link->deadline : engine;
}

/* With the lock held: when adv_device_progress() has something to do; ADV_NEVER. */
static inline uint64_t device_deadline(const struct adv_device *d)
{
	return device_or_link_deadline(d, adv_engine_deadline(d->engine));
}

/* Of that, what a thread that sleeps is woken for. */
static inline uint64_t device_firm_deadline(const struct adv_device *d)
{
	return device_or_link_deadline(d, adv_engine_firm_deadline(d->engine));
}

/* With the lock held: adds 1 to an eventfd once the lock is free; -1: nothing. */
void device_wake_later(struct adv_device *d, int fd);
/* With the lock held: cancels one pending signal of an eventfd; false: there is none. */
bool device_wake_cancel(struct adv_device *d, int fd);
/* With the lock held: hands events to the callbacks. */
void device_deliver_events(struct adv_device *d);
/* With the lock held: copies the counters to the page that adverbd reads. */
void device_publish_counters(struct adv_device *d);
/* Hands events to the callbacks, gives up the lock, and wakes those who wait for the events. */
void device_release(struct adv_device *d);
/* Makes the link to processes of this machine round d->udp, unless that is not wanted. */
void device_peers_init(struct adv_device *d);
/* With the lock held: the daemon says that peers have come to share memory, or have left. */
void device_pairs_changed(struct adv_device *d);
/* With the lock held: delivers an event of the port or the device to all users. */
void device_deliver_port_event(struct adv_device *d, enum ibv_event_type type);
/*
 * Faults on purpose (device_fault.c). The plan of the environment, in a device whose engine and
 * link are there: 0 or errno, and then a line in why[]. With the lock held: what a plan says of the
 * port by now is told; a request of `adverb fault` is answered.
 */
int device_fault_start(struct adv_device *d, char *why, size_t why_len);
void device_fault_look(struct adv_device *d, uint64_t now);
void device_fault_serve(struct adv_device *d, int fd);
/* device_resources.c. With the lock held: what a tool asks by adverbd is answered. */
void device_serve_tool(struct adv_device *d);
/* device_congestion.c: what ADVERB_CC says, else the default. 0 or errno, and then a line in why[].
 */
int device_congestion_read(struct adv_cc_config *config, char *why, size_t why_len);
/* The fastest interface that has a GID, in Mb/s; 0: not known of any. */
uint32_t device_line_rate(const struct adv_gid_table *t);
/* device_notices.c. With the lock held: handles all queued notifications of adverbd. */
void device_read_notices(struct adv_device *d);
/* device_gids.c. With the lock held: loads the GID table of adverbd into engine and link; 0 or
 * errno. The second one also delivers the events of the change. */
int device_load_gids(struct adv_device *d);
void device_gids_changed(struct adv_device *d);
/*
 * device_shared.c: the list of this process's devices.
 * join() adds the user to the device that has the fewest users, if there are ADV_DEVICES_APART with
 * these callbacks; else it returns NULL.
 * add() adds a new device, which has its first user already.
 * leave() removes a user; true: it was the last one, and the device is off the list.
 */
struct adv_device *device_shared_join(const struct adv_device_callbacks *callbacks,
				      struct device_user *u);
void device_shared_add(struct adv_device *d);
bool device_shared_leave(struct adv_device *d, void *user);
/* Adds a user to the device's own list. With the lock held, or before the device is shared. */
void device_user_add(struct adv_device *d, struct device_user *u);

#endif
