/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of a device share. */
#ifndef ADV_HOST_DEVICE_INTERNAL_H
#define ADV_HOST_DEVICE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "host/change.h"
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

/* Peers of this machine, see device_peers.c. The arrays have a bit for each slot. */
struct device_peers {
	struct adv_control_request request;
	bool posted;			/* the request, and its answer is not handled yet */
	bool late;			/* a thread has waited for the answer in vain */
	unsigned peer;			/* whose memory it requests; 0: it queries all pairs */
	bool query_due;			/* when the request is answered */
	unsigned from;			/* the slot from which the query continues */
	uint8_t paired[ADV_SLOTS / 8];	/* its answers so far, ... */
	uint8_t ready[ADV_SLOTS / 8];	/* ... see adv_control_pairs_answer() */
	uint8_t met[ADV_SLOTS / 8];	/* peers of connected QPs */
	uint8_t wanted[ADV_SLOTS / 8];	/* of these: their memory is to be requested */
	uint8_t refused[ADV_SLOTS / 8]; /* of these: adverbd has too many pairs */
};

/* Blocks of QP numbers, see device_qpns.c. */
struct device_blocks {
	struct adv_control_request request; /* for one more */
	bool posted;			    /* the request, and its answer is not handled yet */
	unsigned count;			    /* that the device has */
	bool refused;			    /* adverbd has none left */
};

/* A multicast group that the slot's socket is in. */
struct device_group {
	struct adv_gid gid;
	uint32_t ifindex;
	unsigned joins;
};

/* A context that has the device open. */
struct device_user {
	struct adv_list node;
	void *user;
	uint32_t number; /* rises with each user of the device */
};

static inline struct device_user *adv_device_user_of(struct adv_list *n)
{
	return adv_container_of(n, struct device_user, node);
}

struct adv_device {
	struct adv_lock lock;
	struct adv_engine *engine;
	uint64_t now; /* clock as first read since the lock was acquired; 0: not read */
	struct adv_link *link;
	struct adv_link *udp; /* the link itself, or the innermost */
	struct adv_link *shm; /* the one round it, or NULL */
	int bell_fd;	      /* of shm: wakes a sleeping reader (link/bell.h); -1: none */
	struct device_peers peers;
	struct adv_control *control;
	struct adv_change answers; /* changes with each handled answer of adverbd */
	struct adv_slot slot;
	struct device_blocks blocks;
	struct adv_device_callbacks callbacks;
	void *user;		     /* one of `users` */
	struct adv_list users;	     /* struct device_user */
	uint32_t user_numbers;	     /* given to these */
	unsigned opens;		     /* number of users; under the lock of device_shared.c */
	pthread_mutex_t groups_lock; /* for the next two; held while adverbd is asked */
	unsigned group_count;
	struct device_group group[ADV_SLOT_GROUPS];
	bool link_full;
	bool cut;	       /* a call left packets unsent, see send_packets() ... */
	bool pumped;	       /* ... and it did so since the lock was acquired */
	unsigned held;	       /* small requests that are posted and not sent */
	uint64_t held_since;   /* time of the first of these */
	unsigned activity;     /* counts packets in both directions */
	bool faulty;	       /* a fault plan is in force, and wraps the link */
	bool dead;	       /* by the plan, and DEVICE_FATAL was delivered */
	atomic_bool port_down; /* by the plan */
	bool gone;	       /* adverbd ended and does not return */
	struct adv_progress progress;
	struct device_thread bg;
	struct device_waiting waiting;
	struct adv_list node; /* in the list of device_shared.c */
	atomic_bool foreign;
	pthread_mutex_t gids_lock; /* innermost */
	struct adv_gid_table gids;
	uint64_t *counters;	   /* page of counters that adverbd reads, or NULL */
	unsigned counters_written; /* `activity` when the page was written */
	uint64_t counters_at;	   /* time of that, ns */
	bool counters_due;	   /* write the page when the lock is released */
	unsigned wake_count;	   /* eventfds to signal when the lock is released */
	struct device_wake wake[DEVICE_WAKES];
	atomic_uint waking; /* threads that signal eventfds now, without the lock */
	struct adv_tx_batch batch;
};

/* Starts the background thread; 0 or errno. Needs the link and the control connection. */
int adv_device_thread_start(struct adv_device *d);
/* In a child of fork(), which has no such thread: closes the copies of the descriptors. */
void adv_device_thread_abandon(struct adv_device *d);
/* Stops the thread and blocks until it has ended. */
void adv_device_thread_stop(struct adv_device *d);

/* device_actions.c. With the lock held: carries out actions, enum adv_progress_action. */
void adv_device_perform(struct adv_device *d, unsigned actions);
/* Changes the epoll set of the background thread as epoll_ctl() does. The second function is for
 * the UDP socket, whose packets wake the thread if `armed`. */
int adv_device_watch(struct adv_device *d, int op, int fd, uint32_t events,
		     enum device_source source);
int adv_device_watch_receive(struct adv_device *d, int op, bool armed);

static inline uint64_t adv_device_or_link_deadline(const struct adv_device *d, uint64_t engine)
{
	return d->link->deadline && d->link->deadline < engine ? d->link->deadline : engine;
}

/* With the lock held: returns when adv_device_progress() has to run timers; ADV_NEVER. */
static inline uint64_t adv_device_deadline(const struct adv_device *d)
{
	return adv_device_or_link_deadline(d, adv_engine_deadline(d->engine));
}

/* With the lock held: returns the earliest deadline worth waking a sleeping thread for: like
 * adv_device_deadline(), but without delayed ACKs. */
static inline uint64_t adv_device_firm_deadline(const struct adv_device *d)
{
	return adv_device_or_link_deadline(d, adv_engine_firm_deadline(d->engine));
}

/* With the lock held: signals an eventfd once the lock is released. -1: does nothing. */
void adv_device_wake_later(struct adv_device *d, int fd);
/* With the lock held: cancels one pending signal of an eventfd; false: there is none. */
bool adv_device_wake_cancel(struct adv_device *d, int fd);
/* With the lock held: passes queued events to the callbacks. */
void adv_device_deliver_events(struct adv_device *d);
/* With the lock held: copies the counters to the page that adverbd reads. */
void adv_device_publish_counters(struct adv_device *d);
/* With the lock held: passes queued events to the callbacks, releases the lock, and signals
 * eventfds. */
void adv_device_release(struct adv_device *d);
/* Makes the link to processes of this machine round d->udp, unless that is not wanted. */
void adv_device_peers_init(struct adv_device *d);
/* With the lock held: adverbd reports peers that share memory now, or have left. */
void adv_device_pairs_changed(struct adv_device *d);
/*
 * With the lock held, which it releases while it blocks: until no request for memory is under way,
 * but not for long. If adverbd does not answer in time, later calls do not block until it does.
 */
void adv_device_peers_wait(struct adv_device *d);
/* With the lock held: peers.request has its answer. */
void adv_device_peers_answered(struct adv_device *d);
/* With the lock held: blocks.request has its answer. */
void adv_device_block_answered(struct adv_device *d);
/* With the lock held: delivers an event of the port or the device to all users. */
void adv_device_deliver_port_event(struct adv_device *d, enum ibv_event_type type);
/*
 * device_fault.c: injected faults.
 * start() puts the fault plan of the environment into force in a device that has its engine and its
 * link; 0, or errno with a line in why[].
 * look(), with the lock held, delivers the events that the plan has for the port by `now`.
 * serve(), with the lock held, answers a request of `adverb fault`.
 */
int adv_device_fault_start(struct adv_device *d, char *why, size_t why_len);
void adv_device_fault_look(struct adv_device *d, uint64_t now);
void adv_device_fault_serve(struct adv_device *d, int fd);
/* device_resources.c. With the lock held: answers the request of a tool that adverbd passes on. */
void adv_device_serve_tool(struct adv_device *d);
/* device_congestion.c: reads ADVERB_CC, or returns the default. 0, or errno with a line in why[].
 */
int adv_device_congestion_read(struct adv_cc_config *config, char *why, size_t why_len);
/* Returns the speed of the fastest interface that has a GID, in Mb/s; 0: no speed is known. */
uint32_t adv_device_line_rate(const struct adv_gid_table *t);
/* device_notices.c. With the lock held: handles all queued notifications of adverbd. */
void adv_device_read_notices(struct adv_device *d);
/* device.c. With the lock held, which it releases while it blocks: until an answer of adverbd was
 * handled, or until the time `until`. False: that has passed. */
bool adv_device_wait_for_answer(struct adv_device *d, uint64_t until);
/* device_gids.c. With the lock held: loads the GID table of adverbd into engine and link; 0 or
 * errno. The second one also delivers the events of the change. */
int adv_device_load_gids(struct adv_device *d);
void adv_device_gids_changed(struct adv_device *d);
/*
 * device_shared.c: the list of this process's devices.
 * join() adds the user to the device that has the fewest users, if there are ADV_DEVICES_APART with
 * these callbacks; else it returns NULL.
 * add() adds a new device, which has its first user already.
 * leave() removes a user; true: it was the last one, and the device is off the list.
 */
struct adv_device *adv_device_shared_join(const struct adv_device_callbacks *callbacks,
					  struct device_user *u);
void adv_device_shared_add(struct adv_device *d);
bool adv_device_shared_leave(struct adv_device *d, void *user);
/* Adds a user to the device's own list. With the lock held, or before the device is shared. */
void adv_device_user_add(struct adv_device *d, struct device_user *u);

#endif
