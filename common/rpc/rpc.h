#pragma once

/*
 * Start and end of gRPC core in this process. Main thread, before any server or client is made and
 * after the last one is freed.
 *
 * Block the signals that main waits for before rpc_init(): the threads of core inherit the mask of
 * the thread that starts them. Core must never live through a fork without exec.
 */
void rpc_init(void);
void rpc_shutdown(void);
