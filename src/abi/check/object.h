/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sanitizer's records of the program's objects: where each was created, and what happened to it
 * since. Records are found by the pointer that the program holds. A record exists from created() to
 * destroyed(). All calls need the lock of report.h.
 */
#ifndef ADV_ABI_CHECK_OBJECT_H
#define ADV_ABI_CHECK_OBJECT_H

#include "base/table.h"
#include "abi/check/observer.h"
#include "abi/check/stack.h"
#include "abi/check/work.h"

#define ADV_CHECK_NAME	24 /* bytes of an object's name */
#define ADV_CHECK_NOTES 6  /* events that a history keeps */

struct adv_check_object {
	struct adv_table_node node;
	struct adv_list link; /* all records of the kind, oldest first */
	enum adv_check_kind kind;
	void *object;
	struct ibv_context *context;
	char name[ADV_CHECK_NAME]; /* as in the log: "qp 0x000811" */
	bool destroying;	   /* between destroying() and destroyed() */
	bool needed;		   /* of adv_check_leaks(): another object needs this one */
	unsigned forks;		   /* adv_check_forks() at its creation */
	uint64_t created_at;	   /* ns */
	struct adv_check_stack created;
	unsigned notes; /* events since the creation; the newest are kept */
	struct {
		uint64_t at; /* ns */
		char text[48];
	} note[ADV_CHECK_NOTES];
};

struct adv_check_mr {
	struct adv_check_object base;
	struct adv_table_node by_lkey;
	uint32_t lkey, rkey;
	uint64_t iova;	 /* address of the first byte in work requests */
	uintptr_t addr;	 /* address of the first byte in memory */
	uint64_t length; /* bytes */
	uint64_t locked; /* bytes of its pages, which a card pins; 0: on-demand paging */
	int access;
	const struct ibv_pd *pd;
	struct adv_check_stack deregistered; /* set when ibv_dereg_mr() is called */
};

struct adv_check_cq {
	struct adv_check_object base;
	uint64_t polls;	     /* calls that poll it */
	uint32_t left;	     /* completions that were never polled, of destroyed queue pairs */
	uint32_t unpolled;   /* the part of them whose completion was not polled */
	uint64_t vain_since; /* no completion was due at any poll since then, ns; 0: one was */
	bool overfull;	     /* cq-too-small was found */
	uint32_t armed_late; /* completions in it when it was armed; 0 since the next poll */
	pid_t armed_by;	     /* thread */
	struct adv_check_stack armed;
	uint64_t events, acked; /* completion events: delivered, acknowledged */
	pid_t receiver;		/* thread that received the newest one */
	struct adv_check_stack last_event;
};

struct adv_check_srq {
	struct adv_check_object base;
	struct adv_check_queue recvs;
};

struct adv_check_qp {
	struct adv_check_object base;
	struct adv_table_node by_number;
	struct ibv_qp *qp;
	struct ibv_qp_cap requested, granted;
	bool sq_sig_all;
	enum ibv_qp_state state;
	struct adv_check_cq *send_cq, *recv_cq; /* NULL: none. A CQ outlives its queue pairs. */
	uint32_t rnr_naks;			/* last value of adv_check_library.rnr_naks() */
	bool rnr_reported;			/* the last look at it found new ones */
	uint32_t posts_in_error;		/* calls that posted in the known error state */
	pid_t failed_by;			/* thread that moved it to ERR; 0: none */
	struct adv_check_cq
		*failed_cq;   /* the first failed completion was polled from it; or NULL */
	uint64_t failed_poll; /* polls of failed_cq then */
	uint32_t recvs_posted, sends_posted; /* since it left RESET last */
	uint32_t sends_compared;	     /* of them, see adv_check_payloads_answered() */
	uint64_t async_events, async_acked;  /* asynchronous events: delivered, acknowledged */
	pid_t async_receiver;		     /* thread that received the newest one */
	struct adv_check_stack last_async;
	struct ibv_qp_attr attr; /* modify.h */
	int known;		 /* attributes that `attr` has */
	bool peer_is_here;	 /* the peer's GID is one of this machine */
	bool is_entered;	 /* in the file of ends.h */
	uint64_t reset_at;	 /* when it was created or moved to RESET, ns */
	bool accepted_empty;	 /* rdma_accept() found no receive posted, at this place: */
	struct adv_check_stack accepted;
	bool posters_met; /* two threads have posted to it at the same time */
	struct adv_check_queue sends, recvs;
};

struct adv_check_id {
	struct adv_check_object base;
	unsigned unacknowledged;  /* events that the program has got */
	pid_t receiver;		  /* thread that has got the last one */
	const void *private_data; /* of the last event, which may be freed: only compared */
	uint8_t private_data_len;
};

struct adv_check_ah {
	struct adv_check_object base;
	bool is_here; /* the destination's GID is one of this machine */
};

/* Returns the number of fork() calls between the first process and this one. An object with another
 * number belongs to a parent process. */
unsigned adv_check_forks(void);
/* This process is a child of fork(). */
void adv_check_forked(void);

/* Adds the record of a new object. attr: as in the observer's created(). NULL: no memory. */
struct adv_check_object *adv_check_object_add(enum adv_check_kind kind, void *object,
					      struct ibv_context *context, const void *attr,
					      const struct adv_check_stack *created);
/* Removes and frees a record. */
void adv_check_object_remove(struct adv_check_object *o);

/* Removes the records of the regions of a context, which have ended with it. */
void adv_check_objects_forget(const struct ibv_context *context);

/* Returns the record of an object that is not being destroyed, or NULL. */
struct adv_check_object *adv_check_object_find(enum adv_check_kind kind, const void *object);
/* The list of all records of a kind, oldest first. */
struct adv_list *adv_check_objects(enum adv_check_kind kind);

/* As adv_check_object_find(), by kind. */
struct adv_check_qp *adv_check_qp_of(const struct ibv_qp *qp);
struct adv_check_cq *adv_check_cq_of(const struct ibv_cq *cq);
struct adv_check_srq *adv_check_srq_of(const struct ibv_srq *srq);
/* Returns the queue pair of this number, or NULL. */
struct adv_check_qp *adv_check_qp_numbered(uint32_t number);
/* Returns the region of this lkey, or NULL. */
struct adv_check_mr *adv_check_mr_of_lkey(uint32_t lkey);
/* What the observer may ask of libibverbs. NULL until the library attaches. */
extern const struct adv_check_library *adv_check_libibverbs;
/* True if the device still works on the requests of the queue pair. */
bool adv_check_qp_is_live(const struct adv_check_qp *qp);

/* Returns the sum of `locked` of all regions. */
uint64_t adv_check_locked(void);
/* Records that ibv_rereg_mr() changed the region: flags and new access as in the observer. */
void adv_check_mr_change(struct adv_check_mr *mr, int flags, int access);

/* Appends an event to the object's history. */
void adv_check_object_note(struct adv_check_object *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Writes the history of an object into `text`: what happened, and how long ago. Returns text. */
const char *adv_check_object_history(const struct adv_check_object *o, char text[ADV_CHECK_TEXT]);

#endif
