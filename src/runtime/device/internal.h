/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the files of a device share. */
#ifndef ADV_RUNTIME_DEVICE_INTERNAL_H
#define ADV_RUNTIME_DEVICE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/list.h"
#include "runtime/exchange/capture_exchange.h"
#include "runtime/control/change.h"
#include "runtime/control/control.h"
#include "runtime/device/device.h"
#include "runtime/progress/idle.h"
#include "runtime/progress/progress.h"
#include "runtime/device/shards.h"
#include "runtime/link/fault_link.h"
#include "runtime/link/port.h"
#include "runtime/link/udp.h"

#define DEVICE_WAKES 32

/* Descriptors in the background thread's epoll set. */
enum device_source {
	DEVICE_SOURCE_KICK,
	DEVICE_SOURCE_RECEIVE,
	DEVICE_SOURCE_BELL,
	DEVICE_SOURCE_CONTROL,
	DEVICE_SOURCE_SEND,
	DEVICE_SOURCE_CAPTURE, /* sockets of captures, readable at their end */
	DEVICE_SOURCES,
};

/* The background thread, thread.c. */
struct device_thread {
	pthread_t thread;
	int epoll_fd;
	int kick_fd; /* eventfd: wakes the thread */
	int send_fd; /* the full send socket, if it is in the epoll set; else -1 */
	atomic_bool stop;
	bool coarse; /* the thread sleeps for whole milliseconds: the kernel lacks epoll_pwait2() */
};

/* The program's threads that wait in adv_device_wait(), wait.c. */
struct device_waiting {
	unsigned count;
	pthread_t receiver; /* valid while a waiting thread receives */
	int fd;		    /* eventfd: wakes the receiver */
};

/* An eventfd that is signalled after the lock is released, `times` times. */
struct device_wake {
	int fd;
	uint32_t times;
};

/* Peers of this machine, see peers.c. The arrays have a bit for each slot. */
struct device_peers {
	struct adv_control_request request;
	bool posted;	 /* `request` is posted, and its answer is not handled yet */
	bool late;	 /* a thread waited for the answer until its timeout */
	unsigned peer;	 /* peer whose memory `request` requests; 0: it queries all pairs */
	bool query_due;	 /* query all pairs after the present request */
	unsigned from;	 /* the slot from which the query continues */
	bool two_copies; /* ADVERB_NO_ONE_COPY: peers do not read each other's memory */
	uint8_t paired[ADV_SLOTS / 8];	/* peers with shared memory, from the query's answers */
	uint8_t ready[ADV_SLOTS / 8];	/* peers whose memory can be requested now */
	uint8_t met[ADV_SLOTS / 8];	/* peers of connected QPs */
	uint8_t wanted[ADV_SLOTS / 8];	/* peers whose memory still has to be requested */
	uint8_t refused[ADV_SLOTS / 8]; /* peers refused by adverbd: too many pairs */
};

/* Blocks of QP numbers, see qpns.c. */
struct device_blocks {
	struct adv_control_request request; /* requests one more block */
	bool posted;	/* `request` is posted, and its answer is not handled yet */
	unsigned count; /* blocks that the device has */
	bool refused;	/* adverbd has no block left */
};

/* A multicast group that the slot's socket has joined. */
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
	struct adv_device_front front; /* must be the first member */
	struct adv_lock lock;
	struct adv_idle idle;
	struct adv_engine *engine;
	uint64_t now;		/* first clock reading since the lock was acquired; 0: none */
	struct adv_link *link;	/* the outermost link, see tap.c */
	struct adv_link *udp;	/* the innermost link; may be `link` itself */
	struct adv_link *shm;	/* link of shared memory that wraps `udp`, or NULL */
	struct adv_link *port;	/* link to an emulated fabric, or NULL: port.h */
	struct adv_link *raw;	/* link of RoCE v1 that wraps `shm` or `udp`, or NULL */
	bool v1;		/* uses RoCE v1, by `raw` or `port` */
	struct adv_link *fault; /* fault link of the plan in force, or NULL */
	uint32_t tear_ns;	/* how long the present torn payload stays in two parts */
	struct device_streams *streams; /* of an iWARP device, streams.c; else NULL */
	int receive_fd;			/* readable when `link` would find packets, or bytes */
	struct adv_tap tap[ADV_CAPTURE_PLACES];
	int bell_fd; /* bell of `port` or `shm` (runtime/link/bell.h); -1: none */
	struct device_peers peers;
	struct adv_control *control;
	struct adv_change answers; /* changes with each handled answer of adverbd */
	struct adv_slot slot;
	struct device_blocks blocks;
	const struct adv_rail *rail; /* NULL: all addresses */
	struct adv_device_callbacks callbacks;
	void *user;		     /* `user` member of one of `users`; NULL in a further shard */
	struct adv_list users;	     /* struct device_user; none in a further shard */
	struct adv_device *first;    /* the device of which this is a shard; maybe this itself */
	struct device_shards shards; /* of the first shard */
	uint32_t user_numbers;	     /* number of the last added user */
	unsigned opens;		     /* number of users; under the lock of shared.c */
	/* Protects group_count and group. Held during requests to adverbd. */
	pthread_mutex_t groups_lock;
	unsigned group_count;
	struct device_group group[ADV_SLOT_GROUPS];
	/* What a call has to handle besides the engine's work. All is 0 in most calls. */
	union {
		struct {
			bool link_full;
			bool cut;	    /* a call left packets unsent, see send_packets() */
			bool faulty;	    /* a fault plan is in force: `fault` is not NULL */
			bool counters_due;  /* write the page when the lock is released */
			uint8_t held;	    /* small requests that are posted and not sent */
			uint8_t wake_count; /* eventfds to signal when the lock is released */
			bool paranoid;	    /* ADVERB_PARANOID: check the engine at each release */
		};
		uint64_t unusual; /* not 0: any of these is not 0 */
	};
	bool pumped;	     /* `cut` was set since the lock was acquired */
	uint64_t held_since; /* time when the first held request was posted */
	unsigned activity;   /* counts packets in both directions */
	bool dead;	     /* the fault plan killed the device, and DEVICE_FATAL was delivered */
	atomic_bool port_down; /* the fault plan has set the port down */
	bool gone;	       /* adverbd ended and does not return */
	struct adv_progress progress;
	struct device_thread bg;
	struct device_waiting waiting;
	struct adv_list node;	   /* node in the list of shared.c */
	pthread_mutex_t gids_lock; /* protects `gids`; the innermost lock */
	struct adv_gid_table gids;
	uint64_t *counters;	/* page of counters that adverbd reads, or NULL */
	uint64_t counters_next; /* time to write the page, ns; ADV_NEVER: nothing has changed */
	uint64_t counters_at;	/* time when the page was written, ns */
	struct device_wake wake[DEVICE_WAKES]; /* wake_count entries */
	atomic_uint waking; /* threads that signal eventfds now, without the lock */
	struct adv_tx_batch batch;
};

_Static_assert(DEVICE_WAKES <= UINT8_MAX, "wake_count counts them");

#define DEVICE_COUNTED_LATE 1000000 /* ns until adverbd can read a counter's value, at most */
/* With the lock held: counts packets, which the page of counters does not include yet. */
static inline void adv_device_note_activity(struct adv_device *d, unsigned packets)
{
	d->activity += packets;
	if (d->counters_next == ADV_NEVER)
		d->counters_next = d->counters_at + DEVICE_COUNTED_LATE;
}

/* Starts the background thread; 0 or errno. Needs the link and the control connection. */
int adv_device_thread_start(struct adv_device *d);
/* In a child of fork(), which has no background thread: closes the child's copies of the thread's
 * descriptors. */
void adv_device_thread_abandon(struct adv_device *d);
/* Stops the background thread and blocks until it has ended. */
void adv_device_thread_stop(struct adv_device *d);

/* actions.c. With the lock held: carries out a set of enum adv_progress_action. */
void adv_device_perform(struct adv_device *d, unsigned actions);
/* Changes the epoll set of the background thread like epoll_ctl(). `source` identifies fd in the
 * thread's events. */
int adv_device_watch(struct adv_device *d, int op, int fd, uint32_t events,
		     enum device_source source);
/* As adv_device_watch(), for the UDP socket. armed: its packets wake the thread. */
int adv_device_watch_receive(struct adv_device *d, int op, bool armed);
/* With the lock held: lets this send socket wake the thread when it is writable; -1: none does. */
void adv_device_watch_send(struct adv_device *d, int fd);

/* Returns the time of all engines and of `progress`, ns. On an emulated host it may stand still. */
static inline uint64_t adv_device_clock(const struct adv_device *d)
{
	uint64_t now = adv_clock_ns();

	return d->port ? adv_port_now(d->port, now) : now;
}

/*
 * With the lock held: sets whether peers that write to shared memory have to wake this process.
 * Call it with true before the receiving thread sleeps. False: a packet is already there, do not
 * sleep. A link without shared memory needs no such setting.
 */
static inline bool adv_device_link_sleep(struct adv_device *d, bool sleeping)
{
	return !d->link->ops->sleep || d->link->ops->sleep(d->link, sleeping);
}

/* With the lock held: notes that an eventfd is to be signalled after the lock is released. If fd is
 * -1, does nothing. */
void adv_device_wake_later(struct adv_device *d, int fd);
/* With the lock held: cancels one pending signal of an eventfd. False: no signal is pending. */
bool adv_device_wake_cancel(struct adv_device *d, int fd);
/* With the lock held: passes queued events to the callbacks. */
void adv_device_deliver_events(struct adv_device *d);
/* With the lock held: copies the counters to the page that adverbd reads. */
void adv_device_publish_counters(struct adv_device *d);
/* Lets the engine count latencies in the page. The page is never copied then: the histogram is
 * large. If adverbd is replaced, requests that complete while the page is copied may not count. */
void adv_device_publish_latency(struct adv_device *d);
/* As adv_device_deliver_events(), then releases the lock and signals eventfds. */
void adv_device_release(struct adv_device *d);
/* Wraps d->udp in the link of shared memory, unless ADVERB_NO_SHM is set. */
void adv_device_peers_init(struct adv_device *d);
/* Permits long packets within this machine to the engine. */
void adv_device_peers_engine(struct adv_device *d);
/* With the lock held: handles the notification that peers share memory now or have exited. */
void adv_device_pairs_changed(struct adv_device *d);
/*
 * Blocks until peers.request is not pending, for a bounded time. Call it with the lock held; it
 * releases the lock while it blocks. If adverbd does not answer in time, later calls do not block
 * until it answers.
 */
void adv_device_peers_wait(struct adv_device *d);
/* With the lock held: handles the answer of peers.request. */
void adv_device_peers_answered(struct adv_device *d);
/* With the lock held: handles the answer of blocks.request. */
void adv_device_block_answered(struct adv_device *d);
/* With the lock held: delivers an event of the port or the device to all users. */
void adv_device_deliver_port_event(struct adv_device *d, enum ibv_event_type type);
/*
 * fault.c, injected faults: puts the fault plan of the environment into force. Needs
 * the engine and the link of the device. 0, or errno with a line in why[].
 */
int adv_device_fault_start(struct adv_device *d, char *why, size_t why_len);
/* With the lock held: delivers the port events that the plan schedules up to `now`. */
void adv_device_fault_look(struct adv_device *d, uint64_t now);
/* With the lock held: answers a request of `adverb fault`, which is queued in fd. */
void adv_device_fault_serve(struct adv_device *d, int fd);
/* tap.c. With the lock held: returns the link between the fault plan and the network. */
struct adv_link *adv_device_wire(struct adv_device *d);
/* With the lock held: sets d->link after a change of the fault link or the taps. */
void adv_device_stack_links(struct adv_device *d);
/* With the lock held: answers a request of `adverb capture`, which is queued in fd. True: a capture
 * has begun, and the device owns fd now. */
bool adv_device_capture_serve(struct adv_device *d, int fd);
/* With the lock held: ends the captures whose tools have ended. */
void adv_device_captures_look(struct adv_device *d);
/* resources.c. With the lock held: answers a tool's request, which adverbd passed on. */
void adv_device_serve_tool(struct adv_device *d);
/* congestion.c: reads ADVERB_CC, or sets the default. 0, or errno with a line in why[]. */
int adv_device_congestion_read(struct adv_cc_config *config, char *why, size_t why_len);
/* notices.c. With the lock held: handles all queued notifications of adverbd. */
void adv_device_read_notices(struct adv_device *d);
/* gids.c. With the lock held: gives the engine and the link adverbd's GIDs. 0 or errno. */
int adv_device_load_gids(struct adv_device *d);
/* As adv_device_load_gids(), and delivers the events of the change. */
void adv_device_gids_changed(struct adv_device *d);

#endif
