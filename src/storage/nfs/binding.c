/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes arguments and results by the code that rpcgen makes of nfs3.x and nfs4.x. That code calls
 * the functions here for whatever has a variable length. They record the items and skip the rest.
 */
#include "storage/nfs/binding.h"

#include <limits.h>
#include <string.h>

#include "storage/nfs/ddp.h"
#include "storage/nfs/result_size.h"
#include "nfs3.h"
#include "nfs4.h"

enum {
	PATH_BYTES = 4096, /* the longest pathname of a READLINK, as Linux has it */
	/* Elements of arrays and lists, one of each level of nesting. */
	SCRATCH = 4096,
	READLINK3 = 5,
	READ3 = 6,
	WRITE3 = 7,
	SYMLINK3 = 10,
	READDIR3 = 16,
	READDIRPLUS3 = 17,
	COMPOUND4 = 1,
};

/* One search; x_public of its XDR stream. */
struct scan {
	size_t start; /* offset of the stream in the message */
	struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX];
	unsigned item_count;
	uint32_t results[ADV_RPCRDMA_ITEMS_MAX];
	unsigned result_count;
	uint64_t reply_size;
	uint64_t fixed_size;
	bool unbounded;	     /* fixed_size lacks a result that may have any length */
	const bool *reduced; /* NULL: the stream has all items */
	unsigned reduced_count;
	size_t removed; /* bytes that the stream lacks up to its present position */

	xdrproc_t list; /* the list whose elements are being decoded */
	bool_t more;	/* another element of it follows */
	size_t scratch_used;
	_Alignas(max_align_t) char scratch[SCRATCH];
};

static struct scan *scan_of(XDR *x)
{
	return (struct scan *)(void *)x->x_public;
}

/* Skips bytes and their padding. */
static bool_t skip_opaque(XDR *x, u_int length, char **at)
{
	if (length > INT_MAX - 3)
		return FALSE;
	if (length == 0)
		return TRUE;
	*at = (char *)xdr_inline(x, (length + 3) & ~3u);
	return *at != NULL;
}

bool_t adv_nfs_xdr_bytes(XDR *x, char **value, u_int *length, u_int max)
{
	return xdr_u_int(x, length) && *length <= max && skip_opaque(x, *length, value);
}

/* Returns memory for an element until give_back(); NULL: elements are nested too deeply. */
static void *element_of(struct scan *s, u_int size)
{
	size_t rounded = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	void *element = s->scratch + s->scratch_used;

	if (rounded > SCRATCH - s->scratch_used)
		return NULL;
	s->scratch_used += rounded;
	return element;
}

static void give_back(struct scan *s, const void *element)
{
	s->scratch_used = (size_t)((const char *)element - s->scratch);
}

/* Counts the result of an operation of a COMPOUND. */
static void count_result(struct scan *s, const argop4 *operation)
{
	uint32_t size = adv_nfs_result_size(operation->op);

	s->fixed_size += size;
	if (size == 0)
		s->unbounded = true;
}

bool_t adv_nfs_xdr_array(XDR *x, char **elements, u_int *count, u_int max, u_int size,
			 xdrproc_t decode)
{
	struct scan *s = scan_of(x);
	void *element = element_of(s, size);
	bool_t ok = element != NULL && xdr_u_int(x, count) && *count <= max;

	/* Each element has a byte at least, so the end of the stream ends the loop. */
	for (u_int i = 0; ok && i < *count; i++) {
		memset(element, 0, size);
		ok = decode(x, element);
		if (decode == (xdrproc_t)xdr_argop4)
			count_result(s, element);
	}
	if (element)
		give_back(s, element);
	return ok;
}

bool_t adv_nfs_xdr_pointer(XDR *x, char **object, u_int size, xdrproc_t decode)
{
	struct scan *s = scan_of(x);
	xdrproc_t outer = s->list;
	bool_t ok, more;
	void *element;

	if (!xdr_bool(x, &more))
		return FALSE;
	if (s->list == decode) { /* the next element: the loop below decodes it */
		s->more = more;
		return TRUE;
	}
	element = element_of(s, size);
	ok = element != NULL;
	s->list = decode;
	while (ok && more) {
		s->more = FALSE;
		memset(element, 0, size);
		ok = decode(x, element);
		more = s->more;
	}
	s->list = outer;
	if (element)
		give_back(s, element);
	return ok;
}

bool_t xdr_ddp_data(XDR *x, ddp_data *data)
{
	struct scan *s = scan_of(x);
	unsigned index = s->item_count;
	struct adv_rpcrdma_item *item;
	char *at;

	if (index == ADV_RPCRDMA_ITEMS_MAX || !xdr_u_int(x, &data->length) ||
	    data->length > INT_MAX - 3)
		return FALSE;
	item = &s->items[index];
	item->offset = s->start + xdr_getpos(x) + s->removed;
	item->length = data->length;
	if (s->reduced && index < s->reduced_count && s->reduced[index])
		s->removed += item->length + adv_rpcrdma_pad(item->length);
	else if (!skip_opaque(x, data->length, &at))
		return FALSE;
	s->item_count++;
	return TRUE;
}

static bool_t expect_result(struct scan *s, uint32_t size)
{
	if (s->result_count == ADV_RPCRDMA_ITEMS_MAX)
		return FALSE;
	s->results[s->result_count++] = size;
	return TRUE;
}

bool_t xdr_ddp_read_count(XDR *x, ddp_read_count *count)
{
	return xdr_u_int(x, count) && expect_result(scan_of(x), *count);
}

bool_t xdr_ddp_readlink(XDR *x, ddp_readlink *nothing)
{
	struct scan *s = scan_of(x);

	/* The server of Linux 6.1 shifts the text by four bytes in a write chunk (version 4), so
	 * none is offered. Linux's client offers none either. */
	s->reply_size += PATH_BYTES;
	return expect_result(s, 0);
}

bool_t xdr_ddp_reply_size(XDR *x, ddp_reply_size *size)
{
	if (!xdr_u_int(x, size))
		return FALSE;
	scan_of(x)->reply_size += *size;
	return TRUE;
}

bool_t xdr_ddp_attributes(XDR *x, ddp_attributes *count)
{
	struct scan *s = scan_of(x);

	if (!xdr_u_int(x, count))
		return FALSE;
	for (u_int i = 0; i < *count; i++) {
		uint32_t word, size;

		if (!xdr_u_int(x, &word))
			return FALSE;
		size = adv_nfs_attributes_size(i, word);
		if (size == UINT32_MAX)
			s->unbounded = true;
		else
			s->fixed_size += size;
	}
	return TRUE;
}

/* --- the searches --- */

static bool scan_arguments(XDR *x, uint32_t version, uint32_t procedure)
{
	union {
		readlink3args readlink;
		read3args read;
		write3args write;
		symlink3args symlink;
		readdir3args readdir;
		readdirplus3args readdirplus;
		compound4args compound;
	} a;

	memset(&a, 0, sizeof(a));
	if (version == 4) {
		if (procedure != COMPOUND4 || !xdr_compound4args(x, &a.compound))
			return false;
		/* status, tag, number of results */
		scan_of(x)->fixed_size += 12 + a.compound.tag.text4_len + 3;
		return true;
	}
	switch (procedure) {
	case READLINK3:
		return xdr_readlink3args(x, &a.readlink);
	case READ3:
		return xdr_read3args(x, &a.read);
	case WRITE3:
		return xdr_write3args(x, &a.write);
	case SYMLINK3:
		return xdr_symlink3args(x, &a.symlink);
	case READDIR3:
		return xdr_readdir3args(x, &a.readdir);
	case READDIRPLUS3:
		return xdr_readdirplus3args(x, &a.readdirplus);
	default:
		return true;
	}
}

static bool scan_results(XDR *x, uint32_t version, uint32_t procedure)
{
	union {
		readlink3res readlink;
		read3res read;
		compound4res compound;
	} r;

	memset(&r, 0, sizeof(r));
	if (version == 4)
		return procedure == COMPOUND4 && xdr_compound4res(x, &r.compound);
	if (procedure == READLINK3)
		return xdr_readlink3res(x, &r.readlink);
	if (procedure == READ3)
		return xdr_read3res(x, &r.read);
	return true;
}

/* Scans from `start` to the end of a message. */
static bool run_decoder(struct scan *s, const struct adv_rpc_call *call, const uint8_t *in,
			size_t len, bool (*decode)(XDR *x, uint32_t version, uint32_t procedure))
{
	XDR x;

	if (len - s->start > INT_MAX)
		return false;
	/* The stream is only read. */
	xdrmem_create(&x, (char *)(uintptr_t)(in + s->start), (u_int)(len - s->start), XDR_DECODE);
	x.x_public = (char *)(void *)s;
	return decode(&x, call->version, call->procedure);
}

static bool has_binding(const struct adv_rpc_call *call)
{
	return call->program == ADV_NFS_PROGRAM && !call->opaque &&
	       (call->version == 3 || call->version == 4);
}

static void start_scan(struct scan *s)
{
	memset(s, 0, offsetof(struct scan, scratch));
}

void adv_nfs_scan_call(const struct adv_rpc_call *call, const uint8_t *in, size_t len,
		       struct adv_nfs_arguments *out)
{
	struct scan s;

	start_scan(&s);
	s.start = call->body;
	if (!has_binding(call) || call->body > len ||
	    !run_decoder(&s, call, in, len, scan_arguments))
		s.unbounded = true;
	memcpy(out->items, s.items, sizeof(out->items));
	memcpy(out->results, s.results, sizeof(out->results));
	out->item_count = s.item_count;
	out->result_count = s.result_count;
	out->reply_size = s.reply_size;
	out->fixed_size = s.unbounded ? 0 : s.fixed_size;
}

unsigned adv_nfs_scan_reply(const struct adv_rpc_call *call, const uint8_t *in, size_t len,
			    struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX])
{
	struct scan s;

	start_scan(&s);
	if (!has_binding(call) || !adv_rpc_reply_results(in, len, &s.start))
		return 0;
	run_decoder(&s, call, in, len, scan_results);
	memcpy(items, s.items, sizeof(s.items));
	return s.item_count;
}

int adv_nfs_scan_reduced_reply(const struct adv_rpc_call *call, const uint8_t *in, size_t len,
			       const bool *reduced, unsigned reduced_count,
			       struct adv_rpcrdma_item items[ADV_RPCRDMA_ITEMS_MAX])
{
	struct scan s;

	start_scan(&s);
	if (!has_binding(call) || !adv_rpc_reply_results(in, len, &s.start))
		return 0;
	s.reduced = reduced;
	s.reduced_count = reduced_count;
	if (!run_decoder(&s, call, in, len, scan_results))
		return -1;
	memcpy(items, s.items, sizeof(s.items));
	return (int)s.item_count;
}
