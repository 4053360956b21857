/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/rules.h"

const struct adv_check_rule_text adv_check_rules[ADV_RULES] = {
	[ADV_RULE_SGE_OUTSIDE_REGION] =
		{
			"sge-outside-region",
			"an SGE reaches outside its memory region",
			"addr and length of an SGE must lie inside the region that its lkey names.",
			"ibv_post_send(3), ibv_post_recv(3); IBTA chapter 10",
			"The request completes with IBV_WC_LOC_PROT_ERR, and the queue pair enters "
			"the error state.",
			"Register all the memory that the SGE covers, or shorten the SGE.",
		},
	[ADV_RULE_LOCAL_WRITE_MISSING] =
		{
			"local-write-missing",
			"a request fills memory of a region without IBV_ACCESS_LOCAL_WRITE",
			"A receive, a READ or an atomic writes into the memory of its SGEs.",
			"ibv_reg_mr(3); IBTA chapter 10",
			"The request completes with IBV_WC_LOC_PROT_ERR when the data arrive, and "
			"the queue pair enters the error state.",
			"Register the region with IBV_ACCESS_LOCAL_WRITE.",
		},
	[ADV_RULE_SEND_BUFFER_CHANGED] =
		{
			"send-buffer-changed",
			"the buffer of a send request was changed before its completion",
			"From its posting until its completion is polled, the NIC may read the "
			"buffer of a send request at any time, also for a retransmission.",
			"ibv_post_send(3), Notes; IBTA chapter 10",
			"The peer receives the old contents, the new ones, or a mixture. Nobody "
			"reports it.",
			"Change the buffer only after a completion of this request, or of a later "
			"signaled one, was polled; or use another buffer, or IBV_SEND_INLINE.",
		},
	[ADV_RULE_RECEIVE_BUFFER_CHANGED] =
		{
			"receive-buffer-changed",
			"a posted receive buffer was changed by the program",
			"The buffer of a posted receive belongs to the NIC until its completion is "
			"polled.",
			"ibv_post_recv(3), Notes; IBTA chapter 10",
			"A message that arrives at the same time overwrites what the program "
			"wrote, or is overwritten by it.",
			"Use the buffer only after the completion of its receive was polled.",
		},
	[ADV_RULE_RECEIVE_BUFFER_REUSED] =
		{
			"receive-buffer-reused",
			"a request uses the buffer of a posted receive",
			"A message may arrive at any time and change the buffer.",
			"ibv_post_recv(3), Notes; IBTA chapter 10",
			"Two messages overwrite each other, or a message that arrives is sent "
			"back.",
			"Give each posted receive a buffer of its own. Programs that ignore the "
			"contents, such as ib_send_bw, may share one.",
		},
	[ADV_RULE_UNMAPPED_WHILE_REGISTERED] =
		{
			"unmapped-while-registered",
			"memory was freed or unmapped while a region is registered for it",
			"A region stays bound to its physical pages. After free() or munmap() the "
			"same addresses may get other pages, or other owners.",
			"ibv_reg_mr(3), ibv_dereg_mr(3); IBTA chapter 10",
			"Peers that know the rkey, and requests with the lkey, access pages that "
			"the program uses for something else or no longer sees.",
			"Deregister the region first.",
		},
	[ADV_RULE_STALE_LKEY] =
		{
			"stale-lkey",
			"the lkey of an SGE names no region",
			"An lkey is valid from the registration of its region to its "
			"deregistration.",
			"ibv_post_send(3), ibv_dereg_mr(3); IBTA chapter 10",
			"The request completes with IBV_WC_LOC_PROT_ERR. If the key was given to a "
			"new region meanwhile, it accesses that region.",
			"Use the lkey of a registered region; deregister a region after its last "
			"request has completed.",
		},
	[ADV_RULE_STALE_RKEY] =
		{
			"stale-rkey",
			"the rkey of a request names no region that permits the access",
			"An rkey is valid from the registration of its region to its "
			"deregistration, for the range and the access that were registered.",
			"ibv_post_send(3), ibv_reg_mr(3); IBTA 9.7.4.1.5",
			"The peer answers with a NAK, the request completes with "
			"IBV_WC_REM_ACCESS_ERR, and both queue pairs enter the error state. If the "
			"key was given to a new region, memory of that region is changed.",
			"Tell the peer that a region ends before it is deregistered; compare "
			"address, length and access flags with the registration.",
		},
	[ADV_RULE_DEREG_WHILE_POSTED] =
		{
			"dereg-while-posted",
			"a region was deregistered while a posted request uses it",
			"A region must exist until all requests that name it have completed.",
			"ibv_dereg_mr(3); IBTA chapter 10",
			"The request completes with IBV_WC_LOC_PROT_ERR, and the queue pair enters "
			"the error state; or it had finished by chance.",
			"Poll the completions of all requests, or destroy the queue pair, before "
			"ibv_dereg_mr().",
		},
	[ADV_RULE_INLINE_TOO_LONG] =
		{
			"inline-too-long",
			"a request has more inline data than the queue pair was created for",
			"max_inline_data that ibv_create_qp() returns is the limit of the queue "
			"pair.",
			"ibv_create_qp(3), ibv_post_send(3)",
			"ibv_post_send() returns EINVAL or ENOMEM.",
			"Request the largest inline size that the program uses, or read the "
			"granted one from the attributes that ibv_create_qp() returns and stay "
			"below it.",
		},
	[ADV_RULE_MEMLOCK_LIMIT] =
		{
			"memlock-limit",
			"more memory is registered than RLIMIT_MEMLOCK permits",
			"A card pins the pages of its regions, and the kernel counts them against "
			"RLIMIT_MEMLOCK unless the process has CAP_IPC_LOCK. Adverb pins nothing.",
			"ibv_reg_mr(3); getrlimit(2), RLIMIT_MEMLOCK; Linux "
			"drivers/infiniband/core/umem.c",
			"ibv_reg_mr() fails with ENOMEM.",
			"Raise the limit (ulimit -l, LimitMEMLOCK= of systemd, "
			"/etc/security/limits.conf), or register less.",
		},
	[ADV_RULE_OVERLAPPING_WRITES] =
		{
			"overlapping-writes",
			"WRITEs of two queue pairs to overlapping memory are in flight",
			"Requests of different queue pairs are not ordered: either may be executed "
			"first, or both in parts.",
			"IBTA 10.8.3.3",
			"The target memory has bytes of either WRITE, differently from run to run.",
			"Poll the completion of the first WRITE before the second one is posted, "
			"or use one queue pair.",
		},
	[ADV_RULE_ATOMIC_AND_WRITE] =
		{
			"atomic-and-write",
			"an atomic and a WRITE of different queue pairs to the same memory are in "
			"flight",
			"Atomics are atomic only with respect to other atomics of the same device. "
			"A WRITE may come between the read and the write of an atomic.",
			"IBTA chapter 9",
			"The WRITE is lost, or the result of the atomic is wrong.",
			"Change memory that atomics access by atomics only, or poll the completion "
			"of the one before the other is posted.",
		},
	[ADV_RULE_UNSIGNALED_QUEUE_FULL] =
		{
			"unsignaled-queue-full",
			"the send queue is full of unsignaled requests",
			"The slot of an unsignaled request is freed when the completion of a later "
			"signaled request is polled. Without a signaled request, none is freed.",
			"ibv_post_send(3), IBV_SEND_SIGNALED; IBTA 10.7.3.1",
			"ibv_post_send() returns ENOMEM for ever, and no completion comes.",
			"Signal at least one of each max_send_wr requests, and poll its "
			"completion.",
		},
	[ADV_RULE_CQ_TOO_SMALL] =
		{
			"cq-too-small",
			"a completion queue has fewer entries than completions can come",
			"The program must ensure that all completions fit: the device does not "
			"wait for room.",
			"ibv_create_cq(3), ibv_poll_cq(3); IBTA chapter 10",
			"If the queue overruns, it raises IBV_EVENT_CQ_ERR, is lost, and its queue "
			"pairs enter the error state.",
			"Create the CQ with at least the sum of the depths of the queues that use "
			"it, or post less before polling.",
		},
	[ADV_RULE_RECEIVE_QUEUE_EMPTY] =
		{
			"receive-queue-empty",
			"a message arrived while no receive was posted",
			"The sender gets an RNR NAK and sends again after the receiver's "
			"min_rnr_timer. After rnr_retry attempts (7: without limit) the connection "
			"fails.",
			"ibv_modify_qp(3), rnr_retry and min_rnr_timer; IBTA 9.7.5.2.8",
			"The same, with timers from 0.01 to 655 ms: mostly a rate that collapses, "
			"or IBV_WC_RNR_RETRY_EXC_ERR at the sender.",
			"Post receives before the peer can send, enough for all messages in "
			"flight; let the peer count credits.",
		},
	[ADV_RULE_RECEIVE_TOO_SMALL] =
		{
			"receive-too-small",
			"a receive is smaller than the message",
			"A message must fit into the buffers of one receive. A UD receive also "
			"holds the 40 bytes of the GRH.",
			"ibv_post_recv(3); IBTA chapter 9",
			"RC: the receive completes with IBV_WC_LOC_LEN_ERR, the sender gets "
			"IBV_WC_REM_INV_REQ_ERR, and both queue pairs enter the error state. UD: "
			"the message is dropped.",
			"Post receives of the largest message, plus 40 bytes on UD.",
		},
	[ADV_RULE_NEVER_POLLED] =
		{
			"never-polled",
			"a completion queue was never polled",
			"Only polling frees the slots of the queues and shows errors.",
			"ibv_poll_cq(3); IBTA chapter 10",
			"The queues fill up, the CQ overruns, and errors stay unseen.",
			"Poll the CQ, or post requests that give no completion (no "
			"IBV_SEND_SIGNALED, sq_sig_all 0).",
		},
	[ADV_RULE_ERROR_IGNORED] =
		{
			"error-ignored",
			"the program goes on posting to a queue pair in the error state",
			"After a failed completion the queue pair is in the error state: all its "
			"requests complete with IBV_WC_WR_FLUSH_ERR.",
			"ibv_poll_cq(3), ibv_modify_qp(3); IBTA 10.3.1",
			"The same: nothing is sent or received any more.",
			"Poll completions and compare wc.status with IBV_WC_SUCCESS. After an "
			"error, reset and connect the queue pair again, or destroy it.",
		},
	[ADV_RULE_LOST_WAKEUP] =
		{
			"lost-wakeup",
			"the program waits for an event of a CQ that had completions when it was "
			"armed",
			"ibv_req_notify_cq() requests an event for the next completion. It "
			"requests none for completions that are in the CQ already.",
			"ibv_req_notify_cq(3), ibv_get_cq_event(3); IBTA chapter 11",
			"The program sleeps until another completion comes, perhaps for ever.",
			"After ibv_req_notify_cq(), poll until the CQ is empty, and only then "
			"wait.",
		},
	[ADV_RULE_EVENT_NOT_ACKNOWLEDGED] =
		{
			"event-not-acknowledged",
			"an object with unacknowledged events is being destroyed",
			"Each event that was delivered must be acknowledged, so that no thread "
			"still uses its object.",
			"ibv_get_cq_event(3), ibv_get_async_event(3)",
			"ibv_destroy_cq(), ibv_destroy_qp() or ibv_destroy_srq() waits for ever.",
			"Call ibv_ack_cq_events() or ibv_ack_async_event() for each delivered "
			"event before the object is destroyed.",
		},
	[ADV_RULE_ASYNC_NEVER_READ] =
		{
			"async-never-read",
			"an asynchronous event reported a failure, and was never read",
			"Some failures are reported only by asynchronous events: a CQ's overrun, a "
			"refused request of a peer, a lost port.",
			"ibv_get_async_event(3); IBTA chapter 11",
			"The same: the queue pair or CQ is unusable, and the program waits for "
			"completions that never come.",
			"Read asynchronous events in a thread, or poll context->async_fd.",
		},
	[ADV_RULE_TRANSITION_INVALID] =
		{
			"transition-invalid",
			"a queue pair makes a transition that does not exist",
			"A queue pair goes RESET, INIT, RTR, RTS, and from any state to RESET or "
			"ERR.",
			"ibv_modify_qp(3); IBTA 10.3.1",
			"ibv_modify_qp() fails with EINVAL.",
			"Make the transitions in their order.",
		},
	[ADV_RULE_MASK_MISSING] =
		{
			"mask-missing",
			"attr_mask lacks attributes that the transition needs",
			"Each transition has required attributes, which depend on the type of the "
			"queue pair.",
			"ibv_modify_qp(3), table of required attributes; IBTA chapter 11",
			"ibv_modify_qp() fails with EINVAL.",
			"Set the named attributes, and their bits in attr_mask.",
		},
	[ADV_RULE_MASK_SUPERFLUOUS] =
		{
			"mask-superfluous",
			"attr_mask has attributes that the transition does not accept",
			"An attribute can be set only in the transitions that list it as required "
			"or optional.",
			"ibv_modify_qp(3); IBTA chapter 11",
			"ibv_modify_qp() fails with EINVAL.",
			"Set the attribute in the transition that accepts it, and remove its bit "
			"here.",
		},
	[ADV_RULE_PORT_NUMBER] =
		{
			"port-number",
			"a port number that the device does not have",
			"Ports count from 1 to phys_port_cnt.",
			"ibv_modify_qp(3), ibv_query_device(3)",
			"ibv_modify_qp() fails with EINVAL.",
			"Use a port of ibv_query_device(), mostly 1.",
		},
	[ADV_RULE_PKEY_INDEX] =
		{
			"pkey-index",
			"a P_Key index beyond the port's table",
			"pkey_index is an index of the port's P_Key table, not a P_Key. On RoCE "
			"only index 0 is common.",
			"ibv_modify_qp(3), ibv_query_pkey(3); IBTA 10.9",
			"ibv_modify_qp() fails with EINVAL.",
			"Use 0 on RoCE, elsewhere ibv_get_pkey_index().",
		},
	[ADV_RULE_GID_INDEX_INVALID] =
		{
			"gid-index-invalid",
			"a GID index beyond the port's table",
			"sgid_index is an index below gid_tbl_len of ibv_query_port().",
			"ibv_modify_qp(3), ibv_query_gid(3)",
			"ibv_modify_qp() fails with EINVAL.",
			"Choose an index whose GID ibv_query_gid_ex() returns.",
		},
	[ADV_RULE_GID_INDEX_CONSTANT] =
		{
			"gid-index-constant",
			"the GID index is fixed in the program",
			"The order of the GID table differs between machines and changes with "
			"their addresses: it mixes RoCE v1 and v2, IPv4 and IPv6, all interfaces.",
			"ibv_query_gid_ex(3)",
			"The connection uses another address or another version of RoCE than "
			"meant, or fails.",
			"Look the wanted address up with ibv_query_gid_table() or "
			"ibv_query_gid_ex(), or use librdmacm.",
		},
	[ADV_RULE_GRH_MISSING] =
		{
			"grh-missing",
			"an address without a GRH",
			"RoCE has no LIDs: each address vector has a GRH with the GIDs of both "
			"ends.",
			"IBTA annexes A16, A17; ibv_modify_qp(3)",
			"ibv_modify_qp() fails with EINVAL on RoCE. On InfiniBand the program "
			"works within one subnet.",
			"Set ah_attr.is_global to 1, grh.dgid to the peer's GID, and "
			"grh.sgid_index.",
		},
	[ADV_RULE_QKEY_HIGH_BIT] =
		{
			"qkey-high-bit",
			"a Q_Key with its high bit",
			"A Q_Key with the high bit is controlled: a request with such a "
			"remote_qkey sends the Q_Key of its queue pair instead, and only a "
			"privileged program may give a queue pair such a Q_Key.",
			"IBTA chapter 10",
			"ibv_modify_qp() fails with EPERM without CAP_NET_RAW; the receiver drops "
			"the message.",
			"Use Q_Keys below 0x80000000.",
		},
	[ADV_RULE_QKEY_MISMATCH] =
		{
			"qkey-mismatch",
			"the Q_Key of a message is not that of its receiver",
			"A UD queue pair accepts only messages with its own Q_Key.",
			"ibv_post_send(3); IBTA chapter 9",
			"The receiver drops the message, and neither end has a completion that "
			"says so.",
			"Exchange the Q_Key with the QP number, and set remote_qkey to it.",
		},
	[ADV_RULE_GRH_FORGOTTEN] =
		{
			"grh-forgotten",
			"a UD receive without room for the GRH",
			"The first 40 bytes of a UD receive are for the GRH, even if the message "
			"has none.",
			"ibv_post_recv(3); IBTA chapter 11",
			"The message is dropped or the receive completes with IBV_WC_LOC_LEN_ERR.",
			"Make each receive 40 bytes longer than its message, and read the message "
			"behind them.",
		},
	[ADV_RULE_TIMEOUT_ZERO] =
		{
			"timeout-zero",
			"a Local ACK Timeout of 0",
			"0 disables the timer: the requester does not notice that a packet or its "
			"ACK is lost.",
			"ibv_modify_qp(3); IBTA 9.7.6.1.3",
			"After a lost packet, or when the peer is gone, requests never complete.",
			"Use 14 (67 ms) or more, longer than the path's worst round trip.",
		},
	[ADV_RULE_RETRY_COUNT_ZERO] =
		{
			"retry-count-zero",
			"a retry count of 0",
			"The first lost packet ends the connection.",
			"ibv_modify_qp(3); IBTA 9.7.6",
			"Requests fail with IBV_WC_RETRY_EXC_ERR as soon as Ethernet drops one "
			"packet.",
			"Use 7 unless the program repeats requests itself.",
		},
	[ADV_RULE_RNR_RETRY_FINITE] =
		{
			"rnr-retry-finite",
			"an RNR retry count that gives up",
			"When the receiver has no receive for so long, the connection ends. 7 "
			"means without end.",
			"ibv_modify_qp(3); IBTA 9.7.5.2.8",
			"A short delay of the receiving program makes requests fail with "
			"IBV_WC_RNR_RETRY_EXC_ERR.",
			"Use 7, or make sure by credits that a receive is posted.",
		},
	[ADV_RULE_RNR_TIMER_ZERO] =
		{
			"rnr-timer-zero",
			"a minimum RNR NAK timer of 0",
			"0 is the longest time, 655.36 ms. The shortest, 0.01 ms, is 1.",
			"ibv_modify_qp(3); IBTA 9.7.5.2.8",
			"A sender that finds no receive waits for 655 ms.",
			"Use 12 (0.64 ms) or another value that fits.",
		},
	[ADV_RULE_PSN_CONSTANT] =
		{
			"psn-constant",
			"the first PSN is 0 or a constant",
			"Packets of an earlier connection between the same queue pairs are "
			"accepted if they fit the PSNs. Random first PSNs make that improbable, "
			"and forged packets too.",
			"IBTA chapter 9",
			"After a reconnection, a late packet may be taken for a new one, and data "
			"are lost or corrupted.",
			"Choose 24 random bits for each queue pair, and send them to the peer with "
			"the QP number.",
		},
	[ADV_RULE_PSN_MISMATCH] =
		{
			"psn-mismatch",
			"the peer expects another first PSN",
			"rq_psn of each end must be the sq_psn of the other.",
			"ibv_modify_qp(3); IBTA chapter 9",
			"The receiver drops or NAKs each packet: requests fail with "
			"IBV_WC_RETRY_EXC_ERR.",
			"Send sq_psn to the peer, and use it as the peer's rq_psn.",
		},
	[ADV_RULE_RD_ATOMIC_MISMATCH] =
		{
			"rd-atomic-mismatch",
			"more READs outstanding than the peer accepts",
			"max_rd_atomic of a requester must not be above max_dest_rd_atomic of its "
			"peer.",
			"ibv_modify_qp(3); IBTA chapter 9",
			"A READ or atomic beyond the peer's limit fails with "
			"IBV_WC_REM_INV_REQ_ERR, only under load.",
			"Exchange the limits, and use the smaller one. librdmacm does so.",
		},
	[ADV_RULE_MTU_MISMATCH] =
		{
			"mtu-mismatch",
			"the two ends have different path MTUs",
			"Both ends cut messages by their own path MTU and check the length of each "
			"packet.",
			"ibv_modify_qp(3); IBTA chapter 9",
			"Messages longer than the smaller MTU fail with IBV_WC_REM_INV_REQ_ERR; "
			"short ones pass.",
			"Use the smaller active_mtu of the two ports.",
		},
	[ADV_RULE_PEER_MISMATCH] =
		{
			"peer-mismatch",
			"the peer is connected to another queue pair",
			"An RC or UC queue pair receives only from the queue pair that its "
			"dest_qp_num names.",
			"ibv_modify_qp(3); IBTA chapter 9",
			"The peer drops all packets: requests fail with IBV_WC_RETRY_EXC_ERR.",
			"Exchange QP numbers in pairs. Each queue pair has exactly one peer.",
		},
	[ADV_RULE_POST_IN_WRONG_STATE] =
		{
			"post-in-wrong-state",
			"a request is posted too early",
			"Receives need INIT or a later state, sends RTS.",
			"ibv_post_send(3), ibv_post_recv(3); IBTA 10.3.1",
			"Some cards return EINVAL; others accept the request and lose it.",
			"Post receives after INIT and before RTR, sends after RTS.",
		},
	[ADV_RULE_THREADS_UNORDERED] =
		{
			"threads-unordered",
			"two threads post to one queue pair at the same time",
			"The calls are thread-safe, but the order of the two requests is left to "
			"chance, and with it the order in which messages arrive and WRITEs are "
			"placed.",
			"IBTA 10.8.3; ibv_post_send(3)",
			"The same, and the threads wait for each other's lock.",
			"Give each thread a queue pair, or hold a lock if the order matters.",
		},
	[ADV_RULE_DESTROY_ORDER] =
		{
			"destroy-order",
			"an object is destroyed while other objects use it",
			"An object can be destroyed only when no other object names it.",
			"ibv_dealloc_pd(3), ibv_destroy_cq(3), ibv_destroy_srq(3), "
			"ibv_destroy_comp_channel(3); IBTA C11-17",
			"The call fails with EBUSY, and the object stays: a leak if the program "
			"ignores that.",
			"Destroy queue pairs first, then SRQs, CQs, channels and regions, at last "
			"the PD.",
		},
	[ADV_RULE_LEAK] =
		{
			"leak",
			"an object was never destroyed",
			"Objects occupy memory of the card and pinned pages until the context or "
			"the process ends.",
			"ibv_open_device(3): close_device releases the context only, not its "
			"objects",
			"A program that repeats this runs out of queue pairs, regions or pinned "
			"memory.",
			"Destroy the object.",
		},
	[ADV_RULE_FORK_WITHOUT_INIT] =
		{
			"fork-without-init",
			"fork() with registered memory, without ibv_fork_init()",
			"On kernels before 5.12, the first write after fork() moves the parent's "
			"page: the card keeps the old one.",
			"ibv_fork_init(3), ibv_is_fork_initialized(3)",
			"Received data are written to a page that the parent no longer has.",
			"Call ibv_fork_init() before the first verbs call, or fork before the "
			"device is opened.",
		},
	[ADV_RULE_FORK_CHILD_USES_DEVICE] =
		{
			"fork-child-uses-device",
			"a child of fork() uses its parent's objects",
			"The card serves the memory and the queues of the process that opened it.",
			"ibv_fork_init(3)",
			"Doorbells and queues are shared with the parent: both corrupt them.",
			"Open the device in the child, or exec() at once.",
		},
	[ADV_RULE_READ_WITHOUT_FENCE] =
		{
			"read-without-fence",
			"a request does not wait for a READ or atomic that it depends on",
			"READs and atomics may end after later SENDs and WRITEs of the same queue "
			"pair have begun. Only their completion or IBV_SEND_FENCE orders them.",
			"IBTA 10.8.3.3, table of work request ordering; ibv_post_send(3)",
			"Old memory is sent, or the READ returns what the later WRITE wrote. It "
			"depends on load.",
			"Poll the completion of the READ first, or set IBV_SEND_FENCE.",
		},
	[ADV_RULE_FAILED_DATA_USED] =
		{
			"failed-data-used",
			"data of a failed request are sent on",
			"The memory of a READ, atomic or receive that failed may have any part of "
			"the message, or none.",
			"No standard promises what a failed request has placed in its memory",
			"Cards place packets as they arrive; which ones arrived before the error "
			"is left to chance.",
			"Check the status of each completion before the data are used.",
		},
	[ADV_RULE_ERROR_WC_FIELDS] =
		{
			"error-wc-fields",
			"undefined fields of an error completion are used",
			"If the status is not IBV_WC_SUCCESS, only wr_id, status, qp_num and "
			"vendor_err are defined. adverb check sets byte_len, imm_data and src_qp "
			"to values that it can recognize.",
			"ibv_poll_cq(3)",
			"Cards leave the other fields as the program's struct ibv_wc was before.",
			"Keep what is needed with the request, and find it by wr_id.",
		},
	[ADV_RULE_SGE_LIMIT] =
		{
			"sge-limit",
			"more SGEs than common cards have",
			"The number of SGEs is a limit of the device, and mostly below 32.",
			"The table of limits in check.md; ibv_query_device(3), max_sge",
			"ibv_create_qp() fails with EINVAL on the named cards.",
			"Use ibv_query_device() and as many requests as needed, or fewer SGEs.",
		},
	[ADV_RULE_INLINE_LIMIT] =
		{
			"inline-limit",
			"more inline data than common cards have",
			"The largest inline data are a limit of the device that ibv_query_device() "
			"does not report.",
			"The table of limits in check.md; ibv_create_qp(3)",
			"ibv_create_qp() fails with EINVAL or ENOMEM on the named cards.",
			"Try smaller values until ibv_create_qp() succeeds, and use "
			"cap.max_inline_data that it returns.",
		},
	[ADV_RULE_RD_ATOMIC_LIMIT] =
		{
			"rd-atomic-limit",
			"more outstanding READs than common cards have",
			"max_qp_rd_atom and max_qp_init_rd_atom are 16 on many cards.",
			"The table of limits in check.md; ibv_query_device(3)",
			"ibv_modify_qp() fails with EINVAL on the named cards.",
			"Use the smaller of the program's wish and the device's limit.",
		},
	[ADV_RULE_UD_OVER_ETHERNET_MTU] =
		{
			"ud-over-ethernet-mtu",
			"a UD message that an Ethernet MTU of 1500 cannot carry",
			"A UD message is one packet. With an Ethernet MTU of 1500 the active MTU "
			"is 1024.",
			"IBTA chapter 9, annex A17; ibv_query_port(3), active_mtu",
			"The request fails with IBV_WC_LOC_LEN_ERR, or ibv_post_send() with "
			"EINVAL.",
			"Keep UD messages at 1024 bytes, or below active_mtu of both ports.",
		},
	[ADV_RULE_CM_EVENT_NOT_ACKNOWLEDGED] =
		{
			"cm-event-not-acknowledged",
			"an id is destroyed before its events are acknowledged",
			"rdma_destroy_id() waits until each event that rdma_get_cm_event() "
			"returned is acknowledged.",
			"rdma_ack_cm_event(3), rdma_destroy_id(3)",
			"The call blocks, for ever if the same thread holds the event.",
			"Call rdma_ack_cm_event() for each event, before rdma_destroy_id().",
		},
	[ADV_RULE_PRIVATE_DATA_TOO_LONG] =
		{
			"private-data-too-long",
			"more private data than the message has room for",
			"With RDMA_PS_TCP a request carries 56 bytes and an answer 196; with "
			"RDMA_PS_UDP 180 and 136.",
			"rdma_connect(3), rdma_accept(3); IBTA chapter 12, annex A11",
			"The call fails with EINVAL.",
			"Send the rest by the first message after the connection is established.",
		},
	[ADV_RULE_PRIVATE_DATA_LENGTH] =
		{
			"private-data-length",
			"the length of received private data is taken for the sender's",
			"private_data_len of an event is the length of the message's field, not of "
			"what the peer passed: the rest is zeros.",
			"rdma_connect(3), rdma_accept(3): the amount may be larger than requested",
			"The same on InfiniBand and RoCE; other lengths on iWARP.",
			"Have a length or a fixed layout in the private data itself.",
		},
	[ADV_RULE_REJECT_IGNORED] =
		{
			"reject-ignored",
			"connecting again to an address that rejects",
			"The reason of a rejection is in the event's status: nobody listens (8), "
			"or the listener has refused (28). Repeating the request at once does not "
			"change that.",
			"rdma_get_cm_event(3); IBTA chapter 12",
			"The same, and each attempt occupies a queue pair for the time of "
			"TIMEWAIT.",
			"Read event->status and the private data, and wait before the next "
			"attempt.",
		},
	[ADV_RULE_ACCEPT_WITHOUT_RECEIVES] =
		{
			"accept-without-receives",
			"a connection is accepted before a receive is posted",
			"The peer may send as soon as it has the acceptance.",
			"rdma_create_qp(3), rdma_accept(3); IBTA 9.7.5.2.8",
			"The first message finds no receive: it waits for the RNR NAK timer, or "
			"the connection ends.",
			"Post receives between rdma_create_qp() and rdma_accept().",
		},
};
